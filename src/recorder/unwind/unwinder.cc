// The walk: from the inside outwards until it meets a frame of the stack before, then a check that everything outside
// that frame still stands. Where the check fails the walk goes on, so that each frame is either walked or compared,
// never both.
//
// A frame is the position (pc, sp, rbp) in one function. The outer frames are a function of that position and of the
// stack words read on the way: return addresses, and those saved rbps that determine an outer frame's CFA (or restored
// rbp). So a stored frame with the same position has the same outer frames if these words are the same. Less isn't
// sufficient: the innermost return addresses alone can't distinguish A -> B -> malloc from C -> B -> malloc.
#include <atomic>
#include <cstring>

#include "recorder/base/attributes.h"
#include "recorder/managed/weaver.h"
#include "recorder/unwind/full_walk.h"
#include "recorder/unwind/load.h"
#include "recorder/unwind/modules.h"
#include "recorder/unwind/own_code.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/row_cache.h"
#include "recorder/unwind/stack_memory.h"
#include "recorder/unwind/stored_frames.h"
#include "recorder/unwind/unwind.h"

namespace tare::recorder {
namespace {

constinit std::atomic<std::uint64_t> g_mappings{1};  // bumped when a thread's stack may have gone

// When the stack outgrows kMaxFrames its innermost kKeptWhenTruncated frames are kept: with room to grow, or deep
// recursion would emit all its frames at each call. When it has shrunk to kFewestWhenTruncated the frames dropped are
// walked again.
constexpr std::uint32_t kKeptWhenTruncated = 6144;
constexpr std::uint32_t kFewestWhenTruncated = 4096;
static_assert(kFewestWhenTruncated < kKeptWhenTruncated && kKeptWhenTruncated < trace::kMaxFrames);

// Called only for return addresses found by frame pointer: any word of the stack might be one. Java's interpreter
// returns to places that no call precedes.
bool is_plausible(std::uint64_t address) {
  Rule rule;
  LoadedObject object;
  return RowCache::find(*g_rows.table(), address, rule) || find_loaded_object(address - 1, object) ||
         g_rows.near_generated_code(address) || follows_call(address);
}

}  // namespace

struct Unwinder::State {
  std::uint64_t generation;  // g_generation that the stored frames belong to
  std::uint32_t count;       // frames stored
  Base base;
  StackMemory memory;
  CfiWork work;
  std::uint32_t rows[trace::kMaxFrames + 1];
  Frame fresh[trace::kMaxFrames + 1];         // innermost first
  StoredFrame stored[trace::kMaxFrames + 1];  // outermost first
  Check checks[2 * trace::kMaxFrames];        // outermost first

  static State& of(Unwinder& unwinder) {
    static_assert(sizeof(State) <= sizeof(unwinder.storage_));
    return *reinterpret_cast<State*>(unwinder.storage_);
  }

  static RecentRow& recent_of(Unwinder& unwinder, std::uint64_t pc) { return unwinder.recent_[pc % kRecentRows]; }

  [[gnu::always_inline]] inline Rule rule_at(Unwinder& unwinder, const RowCache::Table& table, std::uint64_t pc) {
    const RecentRow& recent = recent_of(unwinder, pc);
    if (recent.pc == pc) [[likely]]
      return Rule(recent.rule);
    return shared_rule(unwinder, table, pc);
  }

  __attribute__((noinline)) Rule shared_rule(Unwinder& unwinder, const RowCache::Table& table, std::uint64_t pc) {
    if (!arch::is_code(pc)) return g_rows.add(pc, work);
    Rule rule;
    if (!RowCache::find(table, pc, rule)) {
      rule = g_rows.add(pc, work);
    } else if (rule.kind() == RuleKind::NoObject) {
      g_rows.upgrade(pc, work, rule);
    }
    if (rule.kind() == RuleKind::NoObject) return rule;  // repeated each time: an object may have been loaded
    // A longjmp out of a signal handler between these must not leave one's pc with the other's rule.
    RecentRow& recent = recent_of(unwinder, pc);
    recent.pc = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recent.rule = rule.bits();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recent.pc = pc;
    return rule;
  }

  [[gnu::always_inline]] inline Outcome step(FramePosition& position, Rule rule) {
    if (!rule.simple()) [[unlikely]] {
      FramePosition caller = position;  // a copy, so that `position` itself may stay in registers
      const Outcome outcome = special_step(caller, rule);
      position = caller;
      return outcome;
    }
    const std::uint64_t from = rule.cfa_from_rbp() ? position.rbp : position.sp;
    const std::uint64_t cfa = from + static_cast<std::uint64_t>(rule.cfa_offset());
    const std::uint64_t returns = arch::return_slot(cfa, rule.rbp_offset());
    if (cfa <= position.sp || !memory.readable(returns)) [[unlikely]]
      return Outcome::Failed;
    if (rule.saves_rbp()) {
      const std::uint64_t slot = cfa + static_cast<std::uint64_t>(rule.rbp_offset());
      if (!memory.readable(slot)) [[unlikely]]
        return Outcome::Failed;
      position.rbp = load(slot);
    }
    position.sp = cfa;
    position.pc = arch::code_address(load(returns));
    return position.pc == 0 ? Outcome::Complete : Outcome::Caller;
  }

  __attribute__((noinline)) Outcome special_step(FramePosition& position, Rule rule) {
    const std::uint64_t sp = position.sp;
    switch (rule.kind()) {
      case RuleKind::End:
        return Outcome::Complete;
      case RuleKind::Deref: {
        const std::uint64_t at = position.rbp + static_cast<std::uint64_t>(rule.cfa_offset());
        const std::uint64_t saved = position.rbp + static_cast<std::uint64_t>(rule.rbp_offset());
        if (!memory.readable(at) || !memory.readable(saved)) return Outcome::Failed;
        const std::uint64_t cfa = load(at);
        if (cfa <= sp || !memory.readable(cfa - 8)) return Outcome::Failed;
        position = {load(cfa - 8), cfa, load(saved)};
        return position.pc == 0 ? Outcome::Complete : Outcome::Caller;
      }
      case RuleKind::Signal:
        if (!memory.readable(sp + arch::kSignalFp) || !memory.readable(sp + arch::kSignalPc)) return Outcome::Failed;
        position = {load(sp + arch::kSignalPc) + 1, load(sp + arch::kSignalSp), load(sp + arch::kSignalFp)};
        if (!memory.enter(position.sp)) return Outcome::Failed;
        if (position.pc == kCalledNull) arch::leave_null_call(position.pc, position.sp, sp);
        return Outcome::Caller;
      case RuleKind::Full:
        count_up(g_counters.full_walks);
        if (!full_walk(position, memory, work)) return Outcome::Failed;
        return position.pc == 0 ? Outcome::Complete : Outcome::Caller;
      default: {
        // The loader's start function, which calls constructors, has no unwind table, and musl has none at all.
        if (is_first_of_own_stack(position.sp)) return Outcome::Complete;
        count_up(g_counters.unknown_pcs);
        if (!frame_pointer_step(position, memory) || !arch::is_code(position.pc)) return Outcome::NoTable;
        if (!is_plausible(position.pc)) return Outcome::NoTable;
        if (!arch::kCallPushes) work_out_sp(position);
        return Outcome::Caller;
      }
    }
  }

  // After a step by frame record, which doesn't tell how large the frame was. The caller has a record too, if its
  // unwind table has x29 saved there: so x29 tells where its CFA is.
  void work_out_sp(FramePosition& position) {
    Rule rule;
    if (!RowCache::find(*g_rows.table(), position.pc, rule)) rule = g_rows.add(position.pc, work);
    if (!rule.simple() || !rule.saves_rbp() || rule.cfa_from_rbp()) return;
    const std::uint64_t sp =
        position.rbp - static_cast<std::uint64_t>(rule.rbp_offset()) - static_cast<std::uint64_t>(rule.cfa_offset());
    if (sp >= position.sp && memory.readable(sp)) position.sp = sp;
  }

  static void count_up(std::atomic<std::uint64_t>& counter) { recorder::count(counter); }

  static bool same(const StoredFrame& frame, const FramePosition& position) {
    return frame.position.sp == position.sp && frame.position.pc == position.pc &&
           (!frame.rule.needs_rbp() || frame.position.rbp == position.rbp);
  }

  // How many of the outermost stored frames lie on one stack: up to a signal handler's, or where the stack was
  // switched.
  std::uint32_t frames_on_outer_stack() const {
    if (count == 0 || stored[0].rule.kind() == RuleKind::Signal) return 0;
    std::uint32_t frames = 1;
    while (frames < count && stored[frames].position.sp < stored[frames - 1].position.sp &&
           stored[frames].rule.kind() != RuleKind::Signal) {
      ++frames;
    }
    return frames;
  }

  // Is there still a stack from here to the outermost stored frame? (Programs that unmap a lot would walk and emit
  // whole stacks otherwise.) Frames on several stacks aren't worth the question.
  bool still_readable(std::uint64_t sp) {
    if (count == 0) return true;
    return frames_on_outer_stack() == count && stored[0].position.sp > sp && memory.enter(sp) &&
           memory.reaches(stored[0].position.sp);
  }

  // Mappings changed, or the last walk learnt of memory that may go.
  __attribute__((noinline)) void settle_memory(std::uint64_t mappings, std::uint64_t sp) {
    bool is_proven = false;
    if (!memory.is_about(mappings)) {
      memory.clear(mappings);
    } else {
      const std::uint32_t frames = frames_on_outer_stack();
      if (frames > 0) {
        is_proven = memory.prove(stored[frames - 1].position.sp, stored[0].position.sp, base == Base::Complete) &&
                    frames == count;
      }
      memory.settle();
    }
    if (!is_proven && !still_readable(sp)) count = 0;
  }

  // Compares outwards from stored[top - 1], which holds. Returns the innermost index whose step outwards isn't proven:
  // it changed, or it takes more than a comparison. 0 if all are proven: see proven_base().
  std::uint32_t verify(std::uint32_t top) const {
    const StoredFrame& start = stored[top - 1];
    const Check* const first = checks + stored[start.stop].first_check;
    const Check* at = checks + start.first_check;
    while (at - first >= 4 &&
           (at[-1].difference() | at[-2].difference() | at[-3].difference() | at[-4].difference()) == 0) {
      at -= 4;
    }
    for (; at > first; --at) {
      if (at[-1].difference() != 0) break;
    }
    if (at == first) return start.stop;
    const auto failed = static_cast<std::uint32_t>(at - 1 - checks);
    std::uint32_t frame = failed < top - 1 ? failed : top - 1;  // each frame has one or two checks
    while (frame > 0 && stored[frame].first_check > failed) --frame;
    return frame + 1;
  }

  // Nothing outside the outermost stored frame needs a check: it is the end by its rule, or the frames that were
  // dropped there leave a stack of `depth` frames deep enough.
  bool proven_base(std::uint32_t depth) const {
    return stored[0].rule.kind() == RuleKind::End || (base == Base::Truncated && depth >= kFewestWhenTruncated);
  }

  // The result of a walk: `fresh` inside of stored[0, kept).
  struct Walked {
    std::uint32_t kept;
    std::uint32_t fresh_count;
    Base base;
  };
  [[gnu::always_inline]] inline Capture capture(Unwinder& unwinder, const StartState& start);
  void renew(Unwinder& unwinder, std::uint64_t now) {
    generation = now;
    count = 0;
    std::memset(unwinder.recent_, 0, sizeof(unwinder.recent_));
  }
  [[gnu::always_inline]] inline Walked walk(Unwinder& unwinder, const RowCache::Table& table, FramePosition position);
  [[gnu::always_inline]] inline Capture finish(Unwinder& unwinder, std::uint32_t kept, std::uint32_t fresh_count,
                                               Base new_base);
  // Does anything outside depend on this frame's rbp? Its own CFA, or an outer frame that gets it passed on.
  static Rule with_need(Rule rule, Rule outer) {
    const bool needs = rule.simple() ? rule.cfa_from_rbp() || (outer.needs_rbp() && !rule.saves_rbp())
                                     : rule.kind() != RuleKind::Signal && rule.kind() != RuleKind::End;
    return needs ? rule.with_needs_rbp() : rule.without_needs_rbp();
  }
  [[gnu::always_inline]] inline void attach(std::uint32_t outside, std::uint32_t fresh_count);
  __attribute__((noinline)) std::uint32_t drop_outermost(std::uint32_t kept, std::uint32_t fresh_count);
};

Unwinder::State::Walked Unwinder::State::walk(Unwinder& unwinder, const RowCache::Table& table,
                                              FramePosition position) {
  std::uint32_t n = 0;        // fresh frames
  std::uint32_t top = count;  // stored[0, top) may still be met
  std::uint32_t run_n = 0;    // since fresh[run_n] every frame was found as stored, from stored[run_top - 1] outwards;
  std::uint32_t run_top = 0;  // 0: the last one wasn't
  for (;;) {
    const std::uint32_t next = top;
    while (top > 0 && stored[top - 1].position.sp < position.sp) --top;
    Rule rule;
    if (top > 0 && same(stored[top - 1], position)) {
      if (run_top == 0 || top != next) {
        run_n = n;
        run_top = top;
      }
      const std::uint32_t reached = verify(top);
      if (reached == 0 && proven_base(n + top)) return {run_top, run_n, base};
      // Frames top - 1 to `reached` are valid, but something outside them isn't (or needs a real step). They become
      // fresh, with their present rbp; a stored rbp may be old if no frame needed it.
      for (std::uint32_t i = top - 1; i > reached; --i) {
        if (n == trace::kMaxFrames) return {0, n, Base::Truncated};
        const StoredFrame& outer = stored[i - 1];
        fresh[n++] = {{stored[i].position.pc, stored[i].position.sp, position.rbp}, stored[i].rule};
        if (stored[i].rule.saves_rbp()) {
          position.rbp = load(outer.position.sp + static_cast<std::uint64_t>(stored[i].rule.rbp_offset()));
        }
      }
      position.pc = stored[reached].position.pc;
      position.sp = stored[reached].position.sp;
      rule = stored[reached].rule;
      top = reached;
      if (rule.simple() && reached > 0) run_top = 0;
    } else {
      run_top = 0;
      rule = rule_at(unwinder, table, position.pc);
    }
    if (n == trace::kMaxFrames) return {0, n, Base::Truncated};
    fresh[n++] = {position, rule};
    const Outcome outcome = step(position, rule);
    if (outcome == Outcome::Caller) [[likely]]
      continue;
    const Base end = static_cast<Base>(outcome);
    if (end == Base::Failed) count_up(g_counters.failures);
    // The run reached the outermost stored frame and nothing is outside it, as before.
    if (run_top != 0 && top == 0) return {run_top, run_n, end};
    return {0, n, end};
  }
}

// Puts fresh[0, fresh_count) inside of stored[0, outside), outside > 0. The checks of stored[outside - 1] are made
// anew: where its rbp was saved depends on its inner neighbour.
void Unwinder::State::attach(std::uint32_t outside, std::uint32_t fresh_count) {
  const StoredFrame* outer = &stored[outside - 1];
  Check* check = checks + outer->first_check;
  for (std::uint32_t i = fresh_count; i-- > 0;) {
    const Rule rule = fresh[i].rule;
    rows[i] = rule.row();
    if (rule.simple()) [[likely]] {
      *check++ = {arch::return_slot(outer->position.sp, rule.rbp_offset()), outer->position.pc};
      if (rule.saves_rbp() && outer->rule.needs_rbp()) {
        *check++ = {outer->position.sp + static_cast<std::uint64_t>(rule.rbp_offset()), outer->position.rbp};
      }
    } else {
      *check++ = {reinterpret_cast<std::uint64_t>(&kZero), 0};
    }
    stored[outside] = {fresh[i].position, with_need(rule, outer->rule), static_cast<std::uint32_t>(check - checks),
                       rule.simple() ? outer->stop : outside};
    outer = &stored[outside++];
  }
}

// Stores the new stack over the old one, outermost `kept` frames of which stay.
Capture Unwinder::State::finish(Unwinder& unwinder, std::uint32_t kept, std::uint32_t fresh_count, Base new_base) {
  if (kept + fresh_count > trace::kMaxFrames || (new_base == Base::Truncated && kept == 0)) [[unlikely]] {
    fresh_count = drop_outermost(kept, fresh_count);
    kept = 0;
    new_base = Base::Truncated;
  }
  const std::uint32_t depth = kept + fresh_count;
  const std::uint32_t reported = unwinder.emitted_ != 0 ? kept : 0;
  count = 0;  // a longjmp out of a signal handler from here on leaves an empty, valid state
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (kept > 0) {
    attach(kept, fresh_count);
  } else if (fresh_count > 0) {
    const Rule rule = fresh[fresh_count - 1].rule;
    rows[fresh_count - 1] = rule.row();
    stored[0] = {fresh[fresh_count - 1].position, with_need(rule, Rule()), 0, 0};
    attach(1, fresh_count - 1);
  }
  for (std::uint32_t i = kept, row = fresh_count; i > reported; --i) rows[row++] = stored[i - 1].rule.row();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  base = new_base;
  count = depth;
  unwinder.emitted_ = 1;
  return {reported, depth - reported, rows, depth, new_base == Base::Truncated, new_base < Base::NoTable};
}

// Leaves the innermost kKeptWhenTruncated frames, all of them fresh. Returns their number.
std::uint32_t Unwinder::State::drop_outermost(std::uint32_t kept, std::uint32_t fresh_count) {
  if (fresh_count > kKeptWhenTruncated) return kKeptWhenTruncated;
  // An old rbp in them isn't needed, now or later: nothing is added outside.
  for (; kept > 0 && fresh_count < kKeptWhenTruncated; --kept) {
    fresh[fresh_count++] = {stored[kept - 1].position, stored[kept - 1].rule};
  }
  return fresh_count;
}

Capture Unwinder::State::capture(Unwinder& unwinder, const StartState& start) {
  const std::uint64_t mappings = g_mappings.load(std::memory_order_acquire);
  if (!memory.is_settled(mappings)) [[unlikely]]
    settle_memory(mappings, start.sp);
  const RowCache::Table* table = g_rows.table();
  if (table == nullptr || !memory.enter(start.sp)) [[unlikely]] {
    count = 0;
    return {0, 0, rows, 0, false, false};
  }
  const Walked walked = walk(unwinder, *table, {start.return_address, start.sp, start.rbp});
  return finish(unwinder, walked.kept, walked.fresh_count, walked.base);
}

Capture Unwinder::capture(const StartState& start) {
  State& state = State::of(*this);
  const std::uint64_t generation = g_generation.load(std::memory_order_acquire);
  if (state.generation != generation) [[unlikely]] {
    if ((generation & kWeaves) != 0) return capture_woven(start, generation);
    state.renew(*this, generation);
  }
  return state.capture(*this, start);
}

__attribute__((noinline)) TARE_REALIGNED Capture Unwinder::capture_woven(const StartState& start,
                                                                         std::uint64_t generation) {
  State& state = State::of(*this);
  if (state.generation != (generation & ~kWeaves)) state.renew(*this, generation & ~kWeaves);
  Capture capture = state.capture(*this, start);
  const PythonRuntime& runtime = python_runtime();
  const std::uint64_t thread_state = python_thread_state(runtime);
  if (weaver_ == nullptr) {
    if (thread_state == 0) return capture;
    weaver_ = static_cast<Weaver*>(reserve_zeroed(sizeof(Weaver)));
    if (weaver_ == nullptr) return capture;
  }
  if (!weaver_->weave(runtime, thread_state, state.stored, capture)) capture = this->capture(start);
  return capture;
}

bool Unwinder::passes(const StartState& start, std::uint64_t return_address, std::uint64_t sp) {
  forget();
  capture(start);
  forget();
  const State& state = State::of(*this);
  for (std::uint32_t i = 0; i < state.count; ++i) {
    const FramePosition& position = state.stored[i].position;
    if (position.sp == sp && position.pc == return_address) return true;
  }
  return false;
}

Unwinder::Interrupted Unwinder::interrupted(const StartState& start, std::uint64_t& return_address, std::uint64_t& sp) {
  forget();
  const Capture capture = this->capture(start);
  forget();
  const State& state = State::of(*this);
  for (std::uint32_t i = state.count; i-- > 1;) {  // from inside outwards: a signal may have interrupted a handler
    if (!state.stored[i].is_signal()) continue;
    std::uint32_t caller = i - 1;
    while (caller > 0 && is_own_code(state.stored[caller].position.pc) && !state.stored[caller].is_signal()) --caller;
    if (caller == i - 1 || state.stored[caller].is_signal()) continue;
    return_address = state.stored[caller].position.pc;
    sp = state.stored[caller].position.sp;
    return Interrupted::Hook;
  }
  return capture.complete && !capture.truncated ? Interrupted::Nothing : Interrupted::Unknown;
}

bool Unwinder::ends_without_table(std::uint32_t& row) {
  const State& state = State::of(*this);
  if (state.count == 0 || state.base != Base::NoTable) return false;
  row = state.stored[0].rule.row();
  return true;
}

void Unwinder::reset() {
  State& state = State::of(*this);
  emitted_ = 0;
  if (weaver_ != nullptr) weaver_->reset();
  state.count = 0;
  state.memory.clear(0);
}

void mappings_changed() { g_mappings.fetch_add(1, std::memory_order_release); }

}  // namespace tare::recorder
