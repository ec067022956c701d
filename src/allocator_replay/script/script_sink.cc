#include "allocator_replay/script/script_sink.h"

#include <algorithm>

#include "allocator_replay/script/call_script.h"

namespace tare::core {

using trace::Event;
using trace::EventKind;
using trace::index;

namespace {

// Below, whatever was written lies on a page that is touched anyway.
constexpr std::uint64_t kTellsPagesBytes = 4096;

constexpr bool calls_allocator(StepKind kind) {
  switch (kind) {
    case StepKind::KeptTo:
    case StepKind::Touch:
    case StepKind::Nothing:
    case StepKind::ReallocFrom:  // counted by its second half
      return false;
    default:
      return true;
  }
}

}  // namespace

ScriptSink::ScriptSink(const trace::OpenedTrace& trace, OutputFile& file, const RewriteRules& rules)
    : dictionary_(trace.dictionary()), rules_(rules), clock_(trace.clock_pairs()), steps_(file) {}

void ScriptSink::consume(std::span<const Event> events) {
  for (const Event& event : events) take(event);
}

ScriptSummary ScriptSink::finish() {
  steps_.finish(peak_order_, summary_.peak_requested_bytes);
  summary_.steps = steps_.order();
  summary_.threads = steps_.threads();
  summary_.slots = steps_.slots();
  summary_.duration_ns = steps_.duration_ns();
  return summary_;
}

void ScriptSink::take(const Event& event) {
  switch (event.kind) {
    case EventKind::Alloc:
      born(event, kind_of(event));
      break;
    case EventKind::Free:
      freed(event);
      break;
    case EventKind::ReallocEnd:
      realloced(event);
      break;
    case EventKind::ReallocStart:
      born(event, moving_.contains(event.thread) ? StepKind::ReallocTo : StepKind::Malloc);
      moving_.erase(event.thread);
      break;
    case EventKind::Contents:
      if (const auto block = live_.find(event.address); block != live_.end())
        set_written(block->second, index(event.shape));
      break;
    case EventKind::ThreadEnd:
      thread_ended(event);
      break;
    default:
      break;
  }
}

StepKind ScriptSink::kind_of(const Event& event) const {
  const trace::Shape& shape = dictionary_.shapes[index(event.shape)];
  if (shape.api == trace::AllocApi::Calloc) return StepKind::Calloc;
  return shape.align_log2 != 0 ? StepKind::Aligned : StepKind::Malloc;
}

void ScriptSink::born(const Event& event, StepKind kind) {
  if (const auto before = live_.find(event.address); before != live_.end()) {
    // Its death was lost. It's freed here, unless between the halves of a realloc: then its slot stays taken.
    ++summary_.reborn_blocks;
    const LiveBlock lost = before->second;
    live_.erase(before);
    if (kind != StepKind::ReallocTo) {
      free_block(event, lost);
    } else if (lost.storage == Storage::Own) {
      live_bytes_ -= lost.room;
    }
  }
  const std::uint64_t bytes = std::min(dictionary_.shapes[index(event.shape)].requested_bytes, Step::kMostBytes);
  const RewriteRule& rule = rules_.of(event.shape);
  if (rule.remedy != Remedy::None) ++summary_.rewritten_blocks;
  std::optional<LiveBlock> block;
  switch (rule.remedy) {
    case Remedy::Resize:
      block = own(event, kind, rule.bytes, rule.bytes);
      break;
    case Remedy::Reuse:
      if (kind == StepKind::ReallocTo) {
        block = grown(event, bytes, bytes, moving_.at(event.thread));
      } else if (kind != StepKind::Aligned) {
        block = reused(event, rule.group, bytes);
      }
      break;
    case Remedy::Slabs:
      if ((kind == StepKind::Malloc || kind == StepKind::Calloc) && bytes <= Slabs::kMostCellBytes)
        block = in_slab(event, rule.group, bytes);
      break;
    case Remedy::None:
      break;
  }
  if (!block) block = own(event, kind, bytes, bytes);
  block->shape = index(event.shape);
  live_[event.address] = *block;
}

ScriptSink::LiveBlock ScriptSink::own(const Event& event, StepKind kind, std::uint64_t bytes, std::uint64_t room) {
  const std::uint64_t align_log2 =
      kind == StepKind::Aligned
          ? std::min<std::uint64_t>(dictionary_.shapes[index(event.shape)].align_log2, Step::kMostAlignLog2)
          : 0;
  const std::uint64_t what = Step::pack(kind, room, align_log2, Step::share_of(bytes, room));
  const std::uint32_t slot = steps_.take_slot();
  const StepFile::Place place = add(event, what, slot);
  hold(room);
  return {bytes, room, what, place, slot, 0, Storage::Own, {}};
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

void ScriptSink::freed(const Event& event) {
  const auto found = live_.find(event.address);
  if (found == live_.end()) {
    ++summary_.foreign_frees;
    return;
  }
  const LiveBlock block = found->second;
  live_.erase(found);
  free_block(event, block);
}

void ScriptSink::free_block(const Event& event, const LiveBlock& block) {
  if (block.storage == Storage::Cell) {
    if (const auto slot = slabs_.free_cell(block.cell, event.thread)) {
      free_slot(event, *slot, Slabs::kSlabBytes);
    } else {
      add(event, Step::pack(StepKind::Nothing, 0));
    }
    return;
  }
  const RewriteRule& rule = rule_of(block);
  if (rule.remedy != Remedy::Reuse) {
    free_slot(event, block.slot, block.room);
  } else if (const auto surplus = kept_.keep(rule.group, event.thread, {block.room, block.slot})) {
    free_slot(event, surplus->slot, surplus->room);
  } else {
    add(event, Step::pack(StepKind::Nothing, 0));
  }
}

void ScriptSink::free_slot(const Event& event, std::uint32_t slot, std::uint64_t room) {
  add(event, Step::pack(StepKind::Free, room), slot);
  steps_.give_back(slot);
  live_bytes_ -= room;
}

// The first half. Its second half allocates anew if the old block has no storage that could grow.
void ScriptSink::realloced(const Event& event) {
  const auto found = live_.find(event.address);
  moving_.erase(event.thread);
  if (found == live_.end()) {
    ++summary_.foreign_frees;
    return;
  }
  const LiveBlock block = found->second;
  live_.erase(found);
  if (block.storage != Storage::Own) {
    free_block(event, block);
    return;
  }
  add(event, Step::pack(StepKind::ReallocFrom, block.bytes), block.slot);
  steps_.give_back(block.slot);
  live_bytes_ -= block.room;
  moving_.emplace(event.thread, block);
}

void ScriptSink::thread_ended(const Event& event) {
  for (const KeptBlocks::Block& block : kept_.take_all(event.thread)) free_slot(event, block.slot, block.room);
}

void ScriptSink::set_written(LiveBlock& block, std::uint64_t unwritten_bytes) {
  if (block.room <= kTellsPagesBytes || block.room != block.bytes) return;
  const std::uint64_t written = block.bytes - std::min(block.bytes, unwritten_bytes);
  steps_.patch(block.place, Step::with_share(block.what, Step::share_of(written, block.bytes)));
}

void ScriptSink::hold(std::uint64_t bytes) {
  live_bytes_ += bytes;
  if (live_bytes_ > summary_.peak_requested_bytes) {
    summary_.peak_requested_bytes = live_bytes_;
    peak_order_ = steps_.order();
  }
}

StepFile::Place ScriptSink::add(const Event& event, std::uint64_t what, std::uint32_t slot) {
  if (calls_allocator(Step{what, 0, 0}.kind())) ++summary_.calls;
  const std::uint64_t now_ns = steps_.needs_time() ? clock_.ns(event.stamp) : 0;
  return steps_.add(event.thread, now_ns, what, slot);
}

}  // namespace tare::core
