// The effects of remedies on calls: that part of ScriptSink that only rewritten scripts need.
#include <algorithm>

#include "allocator_replay/script/call_script.h"
#include "allocator_replay/script/script_sink.h"

namespace tare::core {

using trace::Event;
using trace::index;

namespace {

// Only such a step can request more afterwards: a block that a realloc moved, or left in place, is in a later step.
bool is_first_step(std::uint64_t what) {
  const StepKind kind = Step{what, 0, 0}.kind();
  return kind == StepKind::Malloc || kind == StepKind::Calloc;
}

}  // namespace

std::optional<ScriptSink::LiveBlock> ScriptSink::remedied(const Event& event, StepKind kind, std::uint64_t bytes,
                                                          const RewriteRule& rule) {
  const bool is_plain = kind == StepKind::Malloc || kind == StepKind::Calloc;
  switch (rule.remedy) {
    case Remedy::Resize:
      return own(event, kind, rule.bytes, rule.bytes);
    case Remedy::Reuse:
      if (kind == StepKind::ReallocTo) return grown(event, bytes, bytes, moving_.at(event.thread));
      return is_plain ? reused(event, rule.group, bytes) : std::nullopt;
    case Remedy::Slabs:
      if (!is_plain || bytes > Slabs::kMostCellBytes) return std::nullopt;
      return in_slab(event, rule.group, bytes);
    case Remedy::Grow: {
      const std::uint64_t usable =
          rule.more == 0 ? 0 : std::min(dictionary_.shapes[index(event.shape)].usable_bytes, Step::kMostBytes);
      if (kind == StepKind::ReallocTo) {
        const LiveBlock& from = moving_.at(event.thread);
        if (bytes < from.bytes) return std::nullopt;  // the program shrinks it
        return grown(event, bytes, std::max(bytes, rule.more == 0 ? 2 * from.room : usable), from);
      }
      if (!is_plain) return std::nullopt;
      if (rule.more == 0) last_blocks_.allocated(event.thread, event.address);
      return own(event, kind, bytes, std::max(bytes, usable));
    }
    case Remedy::Share:
      if (is_chosen(index(event.shape), rule.share)) return avoided(event, kind, bytes);
      return own(event, kind, bytes + rule.bytes, bytes + rule.bytes);
    case Remedy::First:
      if (is_plain) open_firsts_[std::uint64_t{event.thread} << 32 | rule.group] = event.address;
      return std::nullopt;
    case Remedy::Second:
      return is_plain ? merged(event, rule.group, bytes) : std::nullopt;
    case Remedy::None:
    case Remedy::Trim:
    case Remedy::FreeAtOnce:
    case Remedy::FreeAt:
      break;  // they are changed later
  }
  return std::nullopt;
}

// The second half of a realloc that needs no call if the old block has room.
ScriptSink::LiveBlock ScriptSink::grown(const Event& event, std::uint64_t bytes, std::uint64_t room,
                                        const LiveBlock& from) {
  if (bytes > from.room) return own(event, StepKind::ReallocTo, bytes, room);
  LiveBlock block = own(event, StepKind::KeptTo, bytes, bytes);
  hold(from.room - bytes);
  block.room = from.room;
  return block;
}

std::optional<ScriptSink::LiveBlock> ScriptSink::reused(const Event& event, std::uint32_t group, std::uint64_t bytes) {
  const auto kept = kept_.take(group, event.thread, bytes);
  if (!kept) return std::nullopt;
  const std::uint64_t what = Step::pack(StepKind::Nothing, 0);
  const StepFile::Place place = add(event, what);
  return LiveBlock{bytes, kept->room, what, place, kept->slot, 0, Storage::Own, {}};
}

ScriptSink::LiveBlock ScriptSink::in_slab(const Event& event, std::uint32_t group, std::uint64_t bytes) {
  const Slabs::Pool pool{group, event.thread, Slabs::cell_bytes(bytes)};
  if (const auto slot = slabs_.take_empty(pool)) free_slot(event, *slot, Slabs::kSlabBytes);
  auto cell = slabs_.take(pool);
  if (!cell) {
    // Its pages are touched as cells are taken.
    const LiveBlock slab = own(event, StepKind::Malloc, 0, Slabs::kSlabBytes);
    cell = slabs_.add_slab(pool, slab.slot);
  }
  const std::uint64_t what = Step::pack(StepKind::Touch, cell->offset);
  const StepFile::Place place = add(event, what, slabs_.slot_of(cell->slab));
  return {bytes, 0, what, place, 0, 0, Storage::Cell, *cell};
}

ScriptSink::LiveBlock ScriptSink::avoided(const Event& event, StepKind kind, std::uint64_t bytes) {
  LiveBlock block{bytes, 0, Step::pack(StepKind::Nothing, 0), {}, 0, 0, Storage::None, {}};
  if (kind == StepKind::ReallocTo) {  // the old block is in the hand of the thread
    block.what = Step::pack(StepKind::FreedTo, 0);
    block.slot = steps_.take_slot();
    add(event, block.what, block.slot);
    // The slot isn't reused: the address that FreedTo leaves there isn't read again.
    return block;
  }
  block.place = add(event, block.what);
  return block;
}

std::optional<ScriptSink::LiveBlock> ScriptSink::merged(const Event& event, std::uint32_t group, std::uint64_t bytes) {
  const auto open = open_firsts_.find(std::uint64_t{event.thread} << 32 | group);
  if (open == open_firsts_.end()) return std::nullopt;
  LiveBlock* const first = live_.find(open->second);
  open_firsts_.erase(open);
  if (first == nullptr) return std::nullopt;
  LiveBlock& both = *first;
  // The address may be another block's by now.
  if (rule_of(both).remedy != Remedy::First || !is_first_step(both.what)) return std::nullopt;
  const std::uint64_t room = (both.room + 7) / 8 * 8 + bytes;
  hold(room - both.room);
  both.room = both.bytes = room;
  patch(both, Step::pack(Step{both.what, 0, 0}.kind(), room));
  return avoided(event, StepKind::Malloc, bytes);
}

// A block that another one took over from by malloc, copy and free: if it has room for that one, they are one block.
bool ScriptSink::passes_to_successor(const Event& event, const LiveBlock& block) {
  if (block.storage != Storage::Own) return false;
  const trace::StackId stack = dictionary_.shapes[block.shape].stack;
  const std::uint64_t address = last_blocks_.youngest(event.thread, event.address, [&](std::uint64_t candidate) {
    const LiveBlock* const found = live_.find(candidate);
    return found != nullptr && rule_of(*found).remedy == Remedy::Grow && is_first_step(found->what) &&
           found->bytes > block.bytes && dictionary_.shapes[found->shape].stack == stack;
  });
  if (address == 0) return false;
  LiveBlock& next = *live_.find(address);
  summary_.recorded_hand_copies += block.bytes;
  if (block.room >= next.bytes) {
    patch(next, Step::pack(StepKind::Nothing, 0));
    --summary_.calls;
    live_bytes_ -= next.room;
    next.room = block.room;
    add(event, Step::pack(StepKind::ReallocFrom, block.bytes), block.slot);
    steps_.give_back(block.slot);
    next.what = Step::pack(StepKind::KeptTo, next.bytes);
    next.place = add(event, next.what, next.slot);
    return true;
  }
  summary_.hand_copies += block.bytes;
  const std::uint64_t room = std::max(next.bytes, 2 * block.room);
  hold(room - next.room);
  next.room = room;
  patch(next, Step::pack(Step{next.what, 0, 0}.kind(), room, 0, Step::share_of(next.bytes, room)));
  return false;
}

void ScriptSink::free_what_is_due(const Event& event) {
  const std::uint64_t now_ns = clock_.ns(event.stamp);
  while (!due_.empty() && due_.begin()->first <= now_ns) {
    const std::vector<std::uint32_t> shapes = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    std::vector<LiveBlock*> found;
    live_.for_each([&](LiveBlock& block) {
      if (block.storage == Storage::Own && std::find(shapes.begin(), shapes.end(), block.shape) != shapes.end())
        found.push_back(&block);
    });
    std::sort(found.begin(), found.end(), [](const LiveBlock* a, const LiveBlock* b) { return a->slot < b->slot; });
    for (LiveBlock* const block : found) {
      if (!is_chosen(block->shape, rule_of(*block).share)) continue;
      free_slot(event, block->slot, block->room);
      block->storage = Storage::None;
    }
  }
}

// True if the next block of the shape belongs to the share; never for the first one unless all belong.
bool ScriptSink::is_chosen(std::uint32_t shape, double share) {
  if (owed_.size() <= shape) owed_.resize(rules_.of_shape.size());
  double& owed = owed_[shape];
  owed += share;
  if (owed < 1 - 1e-9) return false;
  owed -= 1;
  return true;
}

void ScriptSink::patch(LiveBlock& block, std::uint64_t what) {
  block.what = what;
  steps_.patch(block.place, what);
}

void ScriptSink::trim(LiveBlock& block, std::uint64_t bytes) {
  if (bytes >= block.room || block.storage != Storage::Own) return;
  const Step step{block.what, 0, 0};
  if (bytes == 0 && step.kind() != StepKind::ReallocTo) {
    patch(block, Step::pack(StepKind::Avoided, 0));
    summary_.calls -= 2;  // with the free that is to come
  } else {
    patch(block, Step::pack(step.kind(), std::max<std::uint64_t>(bytes, 1), step.align_log2()));
  }
  live_bytes_ -= block.room - bytes;
  block.room = block.bytes = bytes;
}

// Blocks that were never freed.
void ScriptSink::change_ends() {
  std::vector<LiveBlock*> found;
  live_.for_each([&](LiveBlock& block) {
    const Remedy remedy = rule_of(block).remedy;
    if (block.storage == Storage::Own && (remedy == Remedy::Trim || remedy == Remedy::FreeAtOnce))
      found.push_back(&block);
  });
  std::sort(found.begin(), found.end(), [](const LiveBlock* a, const LiveBlock* b) { return a->slot < b->slot; });
  for (LiveBlock* const block : found) {
    const RewriteRule& rule = rule_of(*block);
    if (rule.remedy == Remedy::Trim) {
      if (rule.more != 0) trim(*block, rule.more);
    } else if (is_chosen(block->shape, rule.share)) {
      ++summary_.calls;
      const bool is_moved = Step{block->what, 0, 0}.kind() == StepKind::ReallocTo;
      patch(*block, is_moved ? Step::pack(StepKind::FreedTo, 0) : Step::pack(StepKind::FreedAtOnce, block->room));
    }
  }
}

}  // namespace tare::core
