// Adding rows: the unwind table's full rule is reduced to the compact one, the row published, the slot filled in.
#include "recorder/unwind/row_cache.h"

#include "recorder/base/syscall.h"
#include "recorder/unwind/expression.h"
#include "recorder/unwind/full_walk.h"
#include "recorder/unwind/modules.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/spin_lock.h"

namespace tare::recorder {

constinit RowCache g_rows;
constinit std::atomic<std::uint64_t> g_generation{1};
constinit Counters g_counters;

namespace {

constinit SpinLock g_rows_lock;

constexpr std::uint32_t kFirstBits = 8;    // 256 slots on one page: enough for a process that lives for a moment
constexpr std::uint32_t kSecondBits = 11;  // 2,048 slots, 32 KiB: enough for a small program

// rbp's rule as an offset from `base`; false: neither unchanged nor saved there.
bool rbp_at_cfa(const RegisterRule& rule, std::int64_t& offset, RuleKind& kind) {
  switch (rule.kind) {
    case RegisterRule::Kind::Same:
    case RegisterRule::Kind::Undefined:
      offset = 0;
      return true;
    case RegisterRule::Kind::AtCfa:
      offset = rule.offset;
      kind = static_cast<RuleKind>(static_cast<std::uint8_t>(kind) | 1);
      return true;
    default:
      return false;
  }
}

bool is_shape(const RegisterRule& rule, Shape::Kind kind, std::int64_t offset, std::uint64_t pc) {
  if (rule.kind != RegisterRule::Kind::AtExpression) return false;
  const Shape shape = shape_of(rule.expression, pc);
  return shape.kind == kind && shape.offset == offset;
}

Rule compact(const CfiWork& work, std::uint64_t pc) {
  const Rule full = Rule::make(RuleKind::Full, 0, 0);
  const RegisterRule& returns = work.row.registers[kReturn];
  const RegisterRule& rsp = work.row.registers[kSp];
  const RegisterRule& rbp = work.row.registers[kFp];
  if (returns.kind == RegisterRule::Kind::Undefined) return Rule::make(RuleKind::End, 0, 0);

  Shape cfa;
  if (work.row.cfa.kind == CfaRule::Kind::Expression) {
    cfa = shape_of(work.row.cfa.expression, pc);
  } else if (work.row.cfa.reg == kSp) {
    cfa = {Shape::Kind::Sp, work.row.cfa.offset};
  } else if (work.row.cfa.reg == kFp) {
    cfa = {Shape::Kind::Bp, work.row.cfa.offset};
  }
  if (work.signal_frame) {
    const bool linux_frame = cfa.kind == Shape::Kind::AtSp && cfa.offset == arch::kSignalSp &&
                             is_shape(returns, Shape::Kind::Sp, arch::kSignalPc, pc) &&
                             is_shape(rbp, Shape::Kind::Sp, arch::kSignalFp, pc);
    return linux_frame ? Rule::make(RuleKind::Signal, 0, 0) : full;
  }
  if (returns.kind != RegisterRule::Kind::AtCfa || rsp.kind != RegisterRule::Kind::Same) return full;

  std::int64_t rbp_offset = 0;
  if (cfa.kind == Shape::Kind::AtBp) {
    if (!arch::kCallPushes || !arch::return_is_in_slot(returns.offset, true, rbp_offset)) return full;
    if (rbp.kind != RegisterRule::Kind::AtExpression) return full;
    const Shape saved = shape_of(rbp.expression, pc);
    if (saved.kind != Shape::Kind::Bp || !Rule::fits(cfa.offset, saved.offset)) return full;
    return Rule::make(RuleKind::Deref, cfa.offset, saved.offset);
  }
  if (cfa.kind != Shape::Kind::Sp && cfa.kind != Shape::Kind::Bp) return full;
  RuleKind kind = cfa.kind == Shape::Kind::Bp ? RuleKind::BpSame : RuleKind::SpSame;
  if (!rbp_at_cfa(rbp, rbp_offset, kind)) return full;
  const bool saves_rbp = Rule::make(kind, 0, 0).saves_rbp();
  if (!arch::return_is_in_slot(returns.offset, saves_rbp, rbp_offset) || !Rule::fits(cfa.offset, rbp_offset))
    return full;
  return Rule::make(kind, cfa.offset, rbp_offset);
}

Rule rule_of(std::uint64_t address, const ModuleInfo* module, CfiWork& work) {
  if (returns_from_signal(address)) return Rule::make(RuleKind::Signal, 0, 0);
  if (module == nullptr) return Rule::make(RuleKind::NoObject, 0, 0);
  if (find_cfi_row(module->unwind, address, work) == CfiResult::Found) return compact(work, address - 1);
  // The very start of a function that nothing calls: the made-up return address at the bottom of a coroutine's stack
  // (makecontext's __start_context).
  if (find_cfi_row(module->unwind, address + 1, work) == CfiResult::Found) return Rule::make(RuleKind::End, 0, 0);
  return Rule::make(RuleKind::NoTable, 0, 0);
}

}  // namespace

RowCache::Table* RowCache::make_table(std::uint32_t bits) {
  auto* table = static_cast<Table*>(reserve_zeroed(sizeof(Table) + (sizeof(Slot) << bits)));
  if (table == nullptr) return nullptr;
  table->mask = (std::uint64_t{1} << bits) - 1;
  table->shift = 64 - bits;
  return table;
}

void RowCache::put(Table& table, std::uint64_t key, Rule rule) {
  std::uint64_t i = home(table, key & kAddressMask & ~kRetired);
  while (table.slots[i].key.load(std::memory_order_relaxed) != 0) i = (i + 1) & table.mask;
  table.slots[i].rule.store(rule.bits(), std::memory_order_relaxed);
  table.slots[i].key.store(key, std::memory_order_release);
  ++table.used;
}

// The table with at least half of its slots empty. Old ones stay: other threads may be reading them, and all together
// they are smaller than the one in use. Null: no memory.
RowCache::Table* RowCache::with_room() {
  Table* table = table_.load(std::memory_order_relaxed);
  if (table != nullptr && table->used <= table->mask / 2) return table;
  const std::uint32_t bits = table == nullptr ? 0 : 64 - table->shift;
  Table* larger = make_table(bits == 0 ? kFirstBits : bits < kSecondBits ? kSecondBits : bits + 1);
  if (larger == nullptr) return nullptr;
  for (std::uint64_t i = 0; table != nullptr && i <= table->mask; ++i) {
    const std::uint64_t key = table->slots[i].key.load(std::memory_order_relaxed);
    if (key != 0) put(*larger, key, Rule(table->slots[i].rule.load(std::memory_order_relaxed)));
  }
  table_.store(larger, std::memory_order_release);
  return larger;
}

bool RowCache::publish(std::uint64_t key, std::uint32_t& row) {
  row = tables_.row_count->load(std::memory_order_relaxed);
  if (row >= trace::kMaxRows ||
      !tables_.ensure(tables_.context, Tables::Region::Rows, (row + std::uint64_t{1}) * sizeof(trace::Row))) {
    return false;
  }
  tables_.rows[row].bits = key;
  tables_.row_count->store(row + 1, std::memory_order_release);
  return true;
}

// What can't be a return address isn't entered.
Rule RowCache::enter(std::uint64_t address, trace::ModuleId module, Rule rule) {
  const std::uint64_t key = address | static_cast<std::uint64_t>(trace::index(module)) << 48;
  const sys::SignalsBlocked blocked;  // a handler that leaves by longjmp must not leave the lock taken
  if (!arch::is_code(address) || !g_rows_lock.try_lock()) {
    count(g_counters.rows_lost);
    return rule;
  }
  Table* table = with_room();
  std::uint32_t row = 0;
  bool found = false;
  for (std::uint64_t i = table == nullptr ? 0 : home(*table, address); table != nullptr; i = (i + 1) & table->mask) {
    const std::uint64_t present = table->slots[i].key.load(std::memory_order_relaxed);
    if (present == 0) break;
    if ((present & ~kRetired) != key) continue;
    // Another thread was faster, or the same object came back to where it had been: its rows live again.
    table->slots[i].key.store(key, std::memory_order_release);
    rule = Rule(table->slots[i].rule.load(std::memory_order_relaxed));
    found = true;
    break;
  }
  if (!found) {
    if (table != nullptr && publish(key, row)) {
      rule = rule.with_row(row);
      put(*table, key, rule);
    } else {
      count(g_counters.rows_lost);
    }
  }
  g_rows_lock.unlock();
  return rule;
}

bool RowCache::near_generated_code(std::uint64_t address) const {
  const std::uint64_t place = (address >> kPlaceShift) + 1;  // 0 in places_: none
  for (const auto& known : places_) {
    const std::uint64_t distance = known.load(std::memory_order_relaxed) - place + 1;
    if (distance <= 2) return true;
  }
  return false;
}

void RowCache::note_generated_code(std::uint64_t address) {
  const std::uint64_t place = (address >> kPlaceShift) + 1;
  for (const auto& known : places_) {
    if (known.load(std::memory_order_relaxed) == place) return;
  }
  places_[next_place_.fetch_add(1, std::memory_order_relaxed) % kPlaces].store(place, std::memory_order_relaxed);
}

Rule RowCache::add(std::uint64_t address, CfiWork& work) {
  const ModuleInfo* module = address == 0 ? nullptr : module_of(address - 1);
  if (module == nullptr) note_generated_code(address);
  return enter(address, module == nullptr ? trace::kNoModule : module->id, rule_of(address, module, work));
}

bool RowCache::upgrade(std::uint64_t address, CfiWork& work, Rule& rule) {
  const ModuleInfo* module = module_of(address - 1);
  if (module == nullptr) return false;
  retire(trace::kNoModule);
  rule = enter(address, module->id, rule_of(address, module, work));
  return true;
}

bool RowCache::publish_made(std::uint64_t bits, std::uint32_t& row) {
  const sys::SignalsBlocked blocked;
  if (!g_rows_lock.try_lock()) return false;
  const bool is_published = publish(bits, row);
  if (!is_published) count(g_counters.rows_lost);
  g_rows_lock.unlock();
  return is_published;
}

void RowCache::retire(trace::ModuleId module) {
  const sys::SignalsBlocked blocked;
  if (!g_rows_lock.try_lock()) return;
  Table* table = table_.load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; table != nullptr && i <= table->mask; ++i) {
    const std::uint64_t key = table->slots[i].key.load(std::memory_order_relaxed);
    if (key == 0 || key >> 48 != trace::index(module) || (key & kRetired) != 0) continue;
    table->slots[i].key.store(key | kRetired, std::memory_order_relaxed);
    count(g_counters.rows_retired);
  }
  g_rows_lock.unlock();
  g_generation.fetch_add(1, std::memory_order_release);
}

void RowCache::attach(const Tables& tables) {
  g_rows_lock.reset();
  tables_ = tables;
  with_room();
  if (tables_.row_count->load(std::memory_order_relaxed) != 0) return;
  std::uint32_t row = 0;
  publish(static_cast<std::uint64_t>(trace::index(trace::kNoModule)) << 48, row);
}

UnwindCounters unwind_counters() {
  const auto value = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {value(g_counters.unknown_pcs), value(g_counters.failures), value(g_counters.full_walks),
          value(g_counters.rows_lost), value(g_counters.rows_retired)};
}

}  // namespace tare::recorder
