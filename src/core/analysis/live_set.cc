// Replays a trace up to a fork, to find the blocks that the child inherited.
#include "core/analysis/live_set.h"

#include <algorithm>
#include <utility>

#include "core/analysis/block_map.h"
#include "core/analysis/dictionary_union.h"
#include "trace/model/api.h"
#include "trace/model/spool_event_count.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

constexpr std::uint64_t kOwn = 1ull << 30;        // low 30 bits: shape of the trace
constexpr std::uint64_t kInherited = 2ull << 30;  // low 30 bits: shape of the inherited set
constexpr std::uint64_t kIndexMask = kOwn - 1;

const trace::Dictionary& nothing() {
  static const trace::Dictionary empty;
  return empty;
}

// Which blocks live, and of which shape each is.
class LiveBlocks {
 public:
  LiveBlocks(const trace::Dictionary& dictionary, const LiveSet* earlier) : dictionary_(dictionary), earlier_(earlier) {
    if (!earlier) return;
    for (const LiveSet::Block& block : earlier->blocks) blocks_.claim(block.address) = kInherited | index(block.shape);
  }

  void consume(const Event& event) {
    switch (event.kind) {
      case EventKind::Alloc:
      case EventKind::ReallocStart:
        if (index(event.shape) < dictionary_.shapes.size()) blocks_.claim(event.address) = kOwn | index(event.shape);
        break;
      case EventKind::Free:
      case EventKind::ReallocEnd:
        if (std::uint64_t* word = blocks_.find(event.address)) *word = BlockMap::kGone;
        break;
      default:
        break;
    }
  }

  LiveSet take() {
    LiveSetBuilder builder(dictionary_, earlier_ != nullptr ? earlier_->dictionary : nothing());
    blocks_.for_each_live([&](std::uint64_t address, std::uint64_t word) {
      const auto from = (word & kOwn) != 0 ? LiveSetBuilder::From::Own : LiveSetBuilder::From::Earlier;
      builder.add(address, static_cast<std::uint32_t>(word & kIndexMask), from);
    });
    return builder.take();
  }

 private:
  const trace::Dictionary& dictionary_;
  const LiveSet* earlier_;
  BlockMap blocks_;
};

}  // namespace

void LiveSetBuilder::add(std::uint64_t address, std::uint32_t shape, From from) {
  Used& used = used_[static_cast<std::size_t>(from)];
  const auto& shapes = (from == From::Own ? own_ : earlier_).shapes;
  if (shape >= shapes.size()) return;
  if (used.place_of.size() < shapes.size()) used.place_of.resize(shapes.size());
  std::uint32_t& place = used.place_of[shape];
  if (place == 0) {
    used.shapes.push_back(shapes[shape]);
    place = static_cast<std::uint32_t>(used.shapes.size());
  }
  blocks_.push_back({address, place - 1, from});
}

LiveSet LiveSetBuilder::take() {
  auto& [own, earlier] = used_;
  DictionaryUnion mine = unite({}, own_, own.shapes);  // a parent's stacks by the hundred thousand aren't the child's
  DictionaryUnion all = unite(mine.dictionary, earlier_, earlier.shapes);
  LiveSet set;
  set.dictionary = std::move(all.dictionary);
  set.dictionary.shapes = std::move(own.shapes);
  const auto own_shapes = static_cast<std::uint32_t>(set.dictionary.shapes.size());
  const auto stack_in = [](const std::vector<trace::StackId>& stacks, trace::StackId stack) {
    return index(stack) < stacks.size() ? stacks[index(stack)] : trace::kEmptyStack;
  };
  for (trace::Shape& shape : set.dictionary.shapes) shape.stack = stack_in(mine.stack_of, shape.stack);
  for (trace::Shape shape : earlier.shapes) {
    shape.stack = stack_in(all.stack_of, shape.stack);
    set.dictionary.shapes.push_back(shape);
  }
  if (set.dictionary.stacks.empty()) set.dictionary.stacks.push_back({trace::kEmptyStack, trace::RowId{0}});
  set.blocks.reserve(blocks_.size());
  for (const Block& block : blocks_) {
    const std::uint32_t shape = block.place + (block.from == From::Own ? 0 : own_shapes);
    set.blocks.push_back({block.address, static_cast<trace::ShapeId>(shape)});
  }
  const auto before = [](const LiveSet::Block& a, const LiveSet::Block& b) { return a.address < b.address; };
  if (!std::is_sorted(set.blocks.begin(), set.blocks.end(), before))
    std::sort(set.blocks.begin(), set.blocks.end(), before);
  return set;
}

struct LiveSetAtFork::State {
  State(const trace::Dictionary& own_dictionary, const trace::ForkOrigin& origin, const LiveSet* older,
        std::uint64_t earlier_events)
      : dictionary(own_dictionary), fork(origin), blocks(own_dictionary, older), thread_events(earlier_events) {}

  bool is_after_fork(const Event& event) const {
    if (event.thread != static_cast<std::uint16_t>(fork.parent_thread)) return event.stamp > fork.stamp;
    return thread_events >= fork.parent_thread_events;
  }

  void consume(const Event& event) {
    if (is_after_fork(event)) {
      taken = true;
      return;
    }
    if (event.thread == static_cast<std::uint16_t>(fork.parent_thread) &&
        trace::counts_as_spool_event(event, dictionary))
      ++thread_events;
    blocks.consume(event);
  }

  const trace::Dictionary& dictionary;
  trace::ForkOrigin fork;
  LiveBlocks blocks;
  std::uint64_t thread_events;
  bool taken = false;
};

LiveSetAtFork::LiveSetAtFork(const trace::Dictionary& dictionary, const trace::ForkOrigin& fork,
                             const LiveSet* inherited, std::uint64_t earlier_thread_events)
    : state_(std::make_unique<State>(dictionary, fork, inherited, earlier_thread_events)) {}

LiveSetAtFork::~LiveSetAtFork() = default;

void LiveSetAtFork::consume(std::span<const Event> events) {
  for (const Event& event : events) {
    if (state_->taken) return;
    state_->consume(event);
  }
}

bool LiveSetAtFork::taken() const { return state_->taken; }

LiveSet LiveSetAtFork::take() { return state_->blocks.take(); }

}  // namespace tare::core
