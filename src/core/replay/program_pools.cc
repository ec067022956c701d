// Books of the program's pools: see program_pools.h.
#include "core/replay/program_pools.h"

#include <tuple>

#include "trace/program_note.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

}  // namespace

// The pool an event speaks of, or null.
ProgramPools::Pool* ProgramPools::pool(const Event& event) {
  const auto found = by_number_.find(trace::pool_of(event.address));
  return found == by_number_.end() ? nullptr : &pools_[found->second];
}

ProgramPools::Span ProgramPools::span(const Event& event, std::uint64_t time_ns) const {
  Span span{};
  span.pool = by_number_.at(trace::pool_of(event.address));
  span.address = trace::pool_address(event.address);
  span.birth_ns = time_ns;
  span.thread = event.thread;
  if (index(event.shape) < dictionary_.shapes.size()) {
    const trace::Shape& shape = dictionary_.shapes[index(event.shape)];
    span.bytes = shape.requested_bytes;
    span.stack = shape.stack;
  }
  return span;
}

void ProgramPools::end_block(Pool& of, std::unordered_map<std::uint64_t, std::size_t>::iterator block,
                             std::uint64_t time_ns) {
  Span& ended = blocks_[block->second];
  ended.death_ns = time_ns;
  of.now.used_bytes -= ended.bytes;
  --of.now.blocks;
  const auto known = by_address_.find(ended.address);
  if (known != by_address_.end() && known->second == block->second) by_address_.erase(known);
  of.blocks.erase(block);
}

void ProgramPools::end_memory(Pool& of, std::unordered_map<std::uint64_t, std::size_t>::iterator memory,
                              std::uint64_t time_ns) {
  memory_[memory->second].death_ns = time_ns;
  of.now.memory_bytes -= memory_[memory->second].bytes;
  of.memory.erase(memory);
}

void ProgramPools::reset(Pool& of, std::uint64_t time_ns) {
  while (!of.blocks.empty()) end_block(of, of.blocks.begin(), time_ns);
}

void ProgramPools::consume(const Event& event, std::uint64_t time_ns, std::optional<std::uint64_t> heap_block) {
  if (event.kind == EventKind::PoolCreate) {
    const std::uint32_t number = trace::pool_of(event.address);
    if (Pool* const before = pool(event)) {  // its end was lost
      ++impossible_events_;
      reset(*before, time_ns);
      before->death_ns = time_ns;
    }
    by_number_[number] = static_cast<std::uint32_t>(pools_.size());
    Pool& made = pools_.emplace_back();
    if (index(event.shape) < dictionary_.names.size()) made.name = trace::NameId{index(event.shape)};
    made.birth_ns = time_ns;
    return;
  }
  Pool* const of = pool(event);
  if (of == nullptr) {
    ++impossible_events_;
    return;
  }
  const std::uint64_t address = trace::pool_address(event.address);
  switch (event.kind) {
    case EventKind::PoolGrow: {
      if (const auto before = of->memory.find(address); before != of->memory.end()) {
        ++impossible_events_;
        end_memory(*of, before, time_ns);
      }
      of->memory.emplace(address, memory_.size());
      memory_.push_back(span(event, time_ns));
      memory_.back().heap_block = heap_block;
      of->now.memory_bytes += memory_.back().bytes;
      break;
    }
    case EventKind::PoolShrink:
      if (const auto piece = of->memory.find(address); piece != of->memory.end()) {
        end_memory(*of, piece, time_ns);
      } else {
        ++impossible_events_;
      }
      break;
    case EventKind::PoolAlloc: {
      if (const auto before = of->blocks.find(address); before != of->blocks.end()) {
        ++impossible_events_;
        end_block(*of, before, time_ns);
      }
      of->blocks.emplace(address, blocks_.size());
      by_address_[address] = blocks_.size();
      blocks_.push_back(span(event, time_ns));
      of->now.used_bytes += blocks_.back().bytes;
      ++of->now.blocks;
      ++of->total_blocks;
      of->total_bytes += blocks_.back().bytes;
      break;
    }
    case EventKind::PoolFree:
      if (const auto block = of->blocks.find(address); block != of->blocks.end()) {
        end_block(*of, block, time_ns);
      } else {
        ++impossible_events_;
      }
      break;
    case EventKind::PoolReset:
      reset(*of, time_ns);
      break;
    case EventKind::PoolDestroy:
      reset(*of, time_ns);
      while (!of->memory.empty()) end_memory(*of, of->memory.begin(), time_ns);
      of->death_ns = time_ns;
      by_number_.erase(trace::pool_of(event.address));
      break;
    default:
      break;
  }
  const auto size = [](const Moment& moment) { return std::tie(moment.memory_bytes, moment.used_bytes); };
  if (size(of->now) > size(of->peak)) {
    of->peak = of->now;
    of->peak_ns = time_ns;
  }
}

std::optional<ProgramPools::LiveBlock> ProgramPools::block_at(std::uint64_t address) const {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return std::nullopt;
  return LiveBlock{found->second, blocks_[found->second].bytes};
}

}  // namespace tare::core
