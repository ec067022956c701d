// Follows blocks from birth to death, and compares each that dies with the last few that did: see twins.h.
#include "core/heavy_tables/twins.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "core/analysis/ledger.h"
#include "core/analysis/record_slots.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

// An object with two parts may free them in any order, itself last: three frees. Larger windows pair by chance.
constexpr std::size_t kRememberedFrees = 4;
constexpr std::uint64_t kNobody = 0;  // id of no block

struct TwinBlock {
  std::uint64_t id = kNobody;        // in order of birth
  std::uint64_t previous = kNobody;  // the allocation before it in the same thread
  std::uint32_t shape = 0;
  std::uint16_t thread = 0;
  bool alone = false;  // grew, or was there before: could not have been one block with another
};

// A block that died, or lives at the end, with the stacks of the twins it has.
struct Candidate {
  TwinBlock block;
  trace::StackId stack{};
  std::uint64_t last_born = ~std::uint64_t{0};  // when it died: later ones never lived beside it
  std::array<trace::StackId, 2> twins{};        // the empty stack: none yet
};

struct Thread {
  std::uint64_t top = kNobody;  // the last block it allocated, of those that it hasn't freed at once
  std::array<Candidate, kRememberedFrees> freed;
  std::size_t next = 0;
};

struct Count {
  std::uint64_t pairs = 0;
  std::uint64_t at_end = 0;
};

enum class Fate : std::uint8_t { Freed, Kept };

constexpr std::uint64_t key_of(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{first} << 32 | second;
}

bool has_twin(const Candidate& block, trace::StackId of) {
  return std::find(block.twins.begin(), block.twins.end(), of) != block.twins.end();
}

void add_twin(Candidate& block, trace::StackId of) {
  const auto room = std::find(block.twins.begin(), block.twins.end(), trace::kEmptyStack);
  if (room != block.twins.end()) *room = of;
}

}  // namespace

struct Twins::State : BooksWithoutGrowth {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& info, const LiveSet* inherited)
      : dictionary(own_dictionary),
        threads(std::size_t{1} << 16),
        blocks_of_stack(own_dictionary.stacks.size()),
        ledger(*this, info) {
    if (!inherited) return;
    for (const LiveSet::Block& block : inherited->blocks) ledger.place(block.address, add({0, 0, 0, 0, true}));
  }

  // LedgerBooks:
  bool admit(trace::ShapeId shape) const {
    return index(shape) < dictionary.shapes.size() &&
           index(dictionary.shapes[index(shape)].stack) < blocks_of_stack.size();
  }

  std::uint64_t born(const Event& event) {
    Thread& of = thread(event.thread);
    const TwinBlock record{++last_id, of.top, index(event.shape), event.thread, event.kind != EventKind::Alloc};
    of.top = record.id;
    ++blocks_of_stack[index(stack_of(record.shape))];
    return add(record);
  }

  Dead died(std::uint64_t word, const Event& event) {
    const TwinBlock record = records[record_of(word)];
    records.free(record_of(word));
    Thread& of = thread(event.thread);
    if (event.thread == record.thread && of.top == record.id) of.top = record.previous;
    if (event.kind != EventKind::Free || record.alone) return {};
    Candidate now{record, stack_of(record.shape), last_id, {}};
    for (std::size_t back = 1; back <= kRememberedFrees; ++back) {
      Candidate& before = of.freed[(of.next + kRememberedFrees - back) % kRememberedFrees];
      if (before.block.id != kNobody && record.id <= before.last_born) pair(before, now, Fate::Freed);
    }
    of.freed[of.next] = now;
    of.next = (of.next + 1) % kRememberedFrees;
    return {};
  }

  static constexpr std::uint32_t kLive = 1u << 31;
  static std::uint32_t record_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) & ~kLive; }
  std::uint64_t add(const TwinBlock& record) { return kLive | records.add(record); }

  Thread& thread(std::uint16_t id) {
    auto& found = threads[id];
    if (!found) found = std::make_unique<Thread>();
    return *found;
  }
  trace::StackId stack_of(std::uint32_t shape) const { return dictionary.shapes[shape].stack; }

  void pair(Candidate& one, Candidate& other, Fate fate) {
    const bool one_first = other.block.previous == one.block.id;
    if (!one_first && one.block.previous != other.block.id) return;
    if (one.stack == other.stack || one.stack == trace::kEmptyStack || other.stack == trace::kEmptyStack) return;
    if (has_twin(one, other.stack) || has_twin(other, one.stack)) return;
    add_twin(one, other.stack);
    add_twin(other, one.stack);
    const TwinBlock& first = (one_first ? one : other).block;
    const TwinBlock& second = (one_first ? other : one).block;
    Count& count = counts[key_of(first.shape, second.shape)];
    ++count.pairs;
    if (fate == Fate::Kept) ++count.at_end;
  }

  // Pairs blocks that were never freed, in order of allocation.
  void pair_kept() {
    std::vector<Candidate> kept;
    ledger.map().for_each_live([&](std::uint64_t, std::uint64_t word) {
      const TwinBlock& record = records[record_of(word)];
      if (!record.alone) kept.push_back({record, stack_of(record.shape), last_id, {}});
    });
    std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.block.id < b.block.id; });
    for (Candidate& one : kept) {
      if (one.block.previous == kNobody) continue;
      const auto before = std::lower_bound(kept.begin(), kept.end(), one.block.previous,
                                           [](const Candidate& a, std::uint64_t id) { return a.block.id < id; });
      if (before != kept.end() && before->block.id == one.block.previous) pair(*before, one, Fate::Kept);
    }
  }

  Table table() const {
    std::unordered_map<std::uint64_t, std::uint64_t> pairs_of_stacks;
    const auto stacks_of = [&](std::uint64_t shapes) {
      return std::pair{index(stack_of(static_cast<std::uint32_t>(shapes >> 32))),
                       index(stack_of(static_cast<std::uint32_t>(shapes)))};
    };
    for (const auto& [shapes, count] : counts) {
      const auto [first, second] = stacks_of(shapes);
      pairs_of_stacks[key_of(first, second)] += count.pairs;
    }
    std::vector<std::uint64_t> chosen;
    for (const auto& [shapes, count] : counts) {
      const auto [first, second] = stacks_of(shapes);
      const std::uint64_t pairs = pairs_of_stacks[key_of(first, second)];
      if (2 * pairs >= std::max(blocks_of_stack[first], blocks_of_stack[second])) chosen.push_back(shapes);
    }
    std::sort(chosen.begin(), chosen.end());
    TableBuilder made("twins");
    const auto int_column = [&](const char* name) { return made.column(name); };
    const auto first_shape = int_column("first_size_id");
    const auto first_stack = int_column("first_stack_id");
    const auto second_shape = int_column("second_size_id");
    const auto second_stack = int_column("second_stack_id");
    const auto pairs = int_column("pairs");
    const auto end_pairs = int_column("end_pairs");
    made.reserve(chosen.size());
    for (const std::uint64_t shapes : chosen) {
      const auto [first, second] = stacks_of(shapes);
      const Count& count = counts.at(shapes);
      made.add(first_shape, static_cast<std::int64_t>(shapes >> 32));
      made.add(first_stack, std::int64_t{first});
      made.add(second_shape, static_cast<std::int64_t>(shapes & 0xffffffff));
      made.add(second_stack, std::int64_t{second});
      made.add(pairs, to_column(count.pairs));
      made.add(end_pairs, to_column(count.at_end));
    }
    return made.take();
  }

  const trace::Dictionary& dictionary;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<std::uint64_t> blocks_of_stack;
  RecordSlots<TwinBlock> records;
  std::unordered_map<std::uint64_t, Count> counts;  // by key_of(first shape, second shape)
  std::uint64_t last_id = kNobody;
  Ledger<State> ledger;
};

Twins::Twins(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, info, inherited)) {}

Twins::~Twins() = default;

void Twins::consume(std::span<const Event> events) { state_->ledger.consume(events); }

Table Twins::finish() {
  state_->pair_kept();
  return state_->table();
}

}  // namespace tare::core
