// Replays just far enough to know what a forked child began with.
#include "core/replay/live_set.h"

#include <unordered_map>

#include "core/replay/block_map.h"
#include "core/replay/dictionary_union.h"
#include "trace/api.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

constexpr std::uint64_t kOwn = 1ull << 30;        // low 30 bits: shape of the trace
constexpr std::uint64_t kInherited = 2ull << 30;  // low 30 bits: shape of what it inherited
constexpr std::uint64_t kIndexMask = kOwn - 1;

}  // namespace

struct LiveSetAtFork::State {
  State(const trace::Dictionary& own_dictionary, const trace::ForkOrigin& origin, const LiveSet* older)
      : dictionary(own_dictionary), fork(origin), inherited(older) {
    if (!inherited) return;
    for (const LiveSet::Block& block : inherited->blocks) blocks.claim(block.address) = kInherited | index(block.shape);
  }

  // What of `event` a thread wrote as one spool event counts once: a realloc at its second half, an mremap at its Map,
  // a note of contents without its digest.
  bool counts(const Event& event) const {
    if (event.kind == EventKind::ReallocEnd || event.kind == EventKind::Digest) return false;
    if (event.kind != EventKind::Unmap || index(event.shape) >= dictionary.shapes.size()) return true;
    return dictionary.shapes[index(event.shape)].api != static_cast<trace::AllocApi>(trace::MapApi::Mremap);
  }

  bool is_after_fork(const Event& event) const {
    if (event.thread != static_cast<std::uint16_t>(fork.parent_thread)) return event.stamp > fork.stamp;
    return thread_events >= fork.parent_thread_events;
  }

  void consume(const Event& event) {
    if (is_after_fork(event)) {
      taken = true;
      return;
    }
    if (event.thread == static_cast<std::uint16_t>(fork.parent_thread) && counts(event)) ++thread_events;
    switch (event.kind) {
      case EventKind::Alloc:
      case EventKind::ReallocStart:
        if (index(event.shape) < dictionary.shapes.size()) blocks.claim(event.address) = kOwn | index(event.shape);
        break;
      case EventKind::Free:
      case EventKind::ReallocEnd:
        if (std::uint64_t* word = blocks.find(event.address)) *word = BlockMap::kGone;
        break;
      default:
        break;
    }
  }

  const trace::Dictionary& dictionary;
  trace::ForkOrigin fork;
  const LiveSet* inherited;
  BlockMap blocks;
  std::uint64_t thread_events = 0;
  bool taken = false;
};

LiveSetAtFork::LiveSetAtFork(const trace::Dictionary& dictionary, const trace::ForkOrigin& fork,
                             const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, fork, inherited)) {}

LiveSetAtFork::~LiveSetAtFork() = default;

void LiveSetAtFork::consume(std::span<const Event> events) {
  for (const Event& event : events) {
    if (state_->taken) return;
    state_->consume(event);
  }
}

bool LiveSetAtFork::taken() const { return state_->taken; }

LiveSet LiveSetAtFork::take() {
  static const trace::Dictionary nothing;
  const State& state = *state_;
  const trace::Dictionary& older = state.inherited ? state.inherited->dictionary : nothing;
  DictionaryUnion all = unite(state.dictionary, older);
  LiveSet set;
  std::unordered_map<std::uint64_t, std::uint32_t> shape_of;  // word -> shape in the set
  state.blocks.for_each_live([&](std::uint64_t address, std::uint64_t word) {
    auto& shapes = all.dictionary.shapes;
    const auto [it, fresh] = shape_of.try_emplace(word, static_cast<std::uint32_t>(shapes.size()));
    if (fresh) {
      const std::uint64_t at = word & kIndexMask;
      shapes.push_back(word & kOwn ? state.dictionary.shapes[at] : older.shapes[at]);
      if (!(word & kOwn)) shapes.back().stack = all.stack_of[index(shapes.back().stack)];
    }
    set.blocks.push_back({address, static_cast<trace::ShapeId>(it->second)});
  });
  DictionaryUnion used = unite({}, all.dictionary);  // a parent's stacks by the hundred thousand aren't the child's
  set.dictionary = std::move(used.dictionary);
  set.dictionary.shapes = std::move(all.dictionary.shapes);
  for (trace::Shape& shape : set.dictionary.shapes) shape.stack = used.stack_of[index(shape.stack)];
  return set;
}

}  // namespace tare::core
