// Books of the program's pools: see program_pools.h.
#include "core/heavy_tables/program_pools.h"

#include <tuple>

#include "trace/spool/program_note.h"

namespace tare::core {

using trace::Event;
using trace::index;

void ProgramPools::consume(const Event& event, std::uint64_t time_ns, std::optional<std::uint64_t> heap_block) {
  now_ns_ = time_ns;
  heap_block_ = heap_block;
  ledger_.consume(event);
}

ProgramPools::Span ProgramPools::span(std::size_t pool, const Event& event) const {
  Span span{};
  span.pool = pool;
  span.address = trace::pool_address(event.address);
  span.birth_ns = now_ns_;
  span.thread = event.thread;
  if (index(event.shape) < dictionary_.shapes.size()) {
    const trace::Shape& shape = dictionary_.shapes[index(event.shape)];
    span.bytes = shape.requested_bytes;
    span.stack = shape.stack;
  }
  return span;
}

void ProgramPools::note_peak(Pool& pool) const {
  const auto size = [](const Moment& moment) { return std::tie(moment.memory_bytes, moment.used_bytes); };
  if (size(pool.now) <= size(pool.peak)) return;
  pool.peak = pool.now;
  pool.peak_ns = now_ns_;
}

std::size_t ProgramPools::pool_made(const Event& event) {
  Pool& made = pools_.emplace_back();
  if (index(event.shape) < dictionary_.names.size()) made.name = trace::NameId{index(event.shape)};
  made.birth_ns = now_ns_;
  return pools_.size() - 1;
}

std::size_t ProgramPools::memory_got(std::size_t pool, const Event& event) {
  memory_.push_back(span(pool, event));
  memory_.back().heap_block = heap_block_;
  pools_[pool].now.memory_bytes += memory_.back().bytes;
  note_peak(pools_[pool]);
  return memory_.size() - 1;
}

void ProgramPools::memory_left(std::size_t pool, std::size_t memory) {
  memory_[memory].death_ns = now_ns_;
  pools_[pool].now.memory_bytes -= memory_[memory].bytes;
}

std::size_t ProgramPools::block_out(std::size_t pool, std::optional<std::size_t> memory, const Event& event) {
  blocks_.push_back(span(pool, event));
  blocks_.back().memory = memory;
  Pool& of = pools_[pool];
  of.now.used_bytes += blocks_.back().bytes;
  ++of.now.blocks;
  ++of.total_blocks;
  of.total_bytes += blocks_.back().bytes;
  note_peak(of);
  return blocks_.size() - 1;
}

void ProgramPools::block_back(std::size_t pool, std::size_t block) {
  blocks_[block].death_ns = now_ns_;
  pools_[pool].now.used_bytes -= blocks_[block].bytes;
  --pools_[pool].now.blocks;
}

std::optional<ProgramPools::LiveBlock> ProgramPools::block_at(std::uint64_t address) const {
  const std::optional<std::size_t> block = ledger_.block_at(address);
  if (!block) return std::nullopt;
  return LiveBlock{*block, blocks_[*block].bytes};
}

}  // namespace tare::core
