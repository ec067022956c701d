// The pools that a program told of: their memory, and the blocks that they hand out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/replay/tables.h"
#include "trace/dictionary.h"
#include "trace/event.h"

namespace tare::core {

class ProgramPools {
 public:
  explicit ProgramPools(const trace::Dictionary& dictionary) : dictionary_(dictionary) {}

  // Any of the pool events; `heap_block` is the block of malloc that the memory of a PoolGrow lies in.
  void consume(const trace::Event& event, std::uint64_t time_ns, std::optional<std::uint64_t> heap_block);

  struct LiveBlock {
    std::uint64_t id;
    std::uint64_t bytes;
  };
  // The block that a pool, the last to do so, handed out at this address.
  std::optional<LiveBlock> block_at(std::uint64_t address) const;

  bool is_live(std::uint64_t block) const { return !blocks_[block].death_ns; }

  // Tables pools, pool_memory, pool_blocks. Once.
  void add_to(Tables& tables) const;
  // Events that can't be: of pools, memory or blocks that weren't there, or were there already.
  std::uint64_t impossible_events() const { return impossible_events_; }

 private:
  struct Span {  // a piece of memory, or a block
    std::uint32_t pool;
    std::uint64_t address;
    std::uint64_t bytes;
    trace::StackId stack;
    std::uint16_t thread;
    std::uint64_t birth_ns;
    std::optional<std::uint64_t> death_ns;
    std::optional<std::uint64_t> heap_block;
  };
  struct Moment {
    std::uint64_t memory_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t blocks = 0;
  };
  struct Pool {
    std::optional<trace::NameId> name;
    std::uint64_t birth_ns = 0;
    std::optional<std::uint64_t> death_ns;
    Moment now;
    Moment peak;  // of memory_bytes, then of used_bytes
    std::uint64_t peak_ns = 0;
    std::uint64_t total_blocks = 0;
    std::uint64_t total_bytes = 0;
    std::unordered_map<std::uint64_t, std::size_t> memory;  // by address: index into memory_
    std::unordered_map<std::uint64_t, std::size_t> blocks;  // by address: index into blocks_
  };

  class SpanTable;

  Table pools_table() const;
  Pool* pool(const trace::Event& event);
  Span span(const trace::Event& event, std::uint64_t time_ns) const;
  void end_block(Pool& of, std::unordered_map<std::uint64_t, std::size_t>::iterator block, std::uint64_t time_ns);
  void end_memory(Pool& of, std::unordered_map<std::uint64_t, std::size_t>::iterator memory, std::uint64_t time_ns);
  void reset(Pool& of, std::uint64_t time_ns);

  const trace::Dictionary& dictionary_;
  std::vector<Pool> pools_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_number_;  // of living pools: index into pools_
  std::unordered_map<std::uint64_t, std::size_t>
      by_address_;  // of living blocks, whatever the pool: index into blocks_
  std::vector<Span> memory_;
  std::vector<Span> blocks_;
  std::uint64_t impossible_events_ = 0;
};

}  // namespace tare::core
