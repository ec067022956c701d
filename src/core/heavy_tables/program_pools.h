// The pools that a program has registered: their memory and their blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/analysis/pools/pool_ledger.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"

namespace tare::core {

class ProgramPools {
 public:
  explicit ProgramPools(const trace::Dictionary& dictionary) : dictionary_(dictionary), ledger_(*this) {}

  // See PoolLedger.
  void adopt_earlier() { ledger_.adopt_earlier(); }
  // Any of the pool events; `heap_block` is the block of malloc that the memory of a PoolGrow lies in.
  void consume(const trace::Event& event, std::uint64_t time_ns, std::optional<std::uint64_t> heap_block);

  struct LiveBlock {
    std::uint64_t id;
    std::uint64_t bytes;
  };
  // The block that a pool, the last to do so, handed out at this address.
  std::optional<LiveBlock> block_at(std::uint64_t address) const;

  bool is_live(std::uint64_t block) const { return !blocks_[block].death_ns; }

  struct Span {  // a piece of memory, or a block
    std::size_t pool;
    std::uint64_t address;
    std::uint64_t bytes;
    trace::StackId stack;
    std::uint16_t thread;
    std::uint64_t birth_ns;
    std::optional<std::uint64_t> death_ns;
    std::optional<std::uint64_t> heap_block;  // of memory: the block that contains it
    std::optional<std::size_t> memory;        // of a block: the piece of memory that contains it
  };
  // All that there ever were, those of death_ns too; by id.
  const std::vector<Span>& memory() const { return memory_; }
  const std::vector<Span>& blocks() const { return blocks_; }

  // Tables pools, pool_memory, pool_blocks. Once.
  void add_to(Tables& tables) const;
  // Events that can't be: of pools, memory or blocks that weren't there, or were there already.
  std::uint64_t impossible_events() const { return ledger_.impossible_events(); }

  // PoolLedger's view; see there.
  std::size_t pool_made(const trace::Event& event);
  void pool_ended(std::size_t pool) { pools_[pool].death_ns = now_ns_; }
  std::size_t memory_got(std::size_t pool, const trace::Event& event);
  void memory_left(std::size_t pool, std::size_t memory);
  std::size_t block_out(std::size_t pool, std::optional<std::size_t> memory, const trace::Event& event);
  void block_back(std::size_t pool, std::size_t block);
  std::uint64_t memory_bytes(std::size_t memory) const { return memory_[memory].bytes; }
  std::uint64_t block_bytes(std::size_t block) const { return blocks_[block].bytes; }

 private:
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
  };

  class SpanTable;

  Table pools_table() const;
  Span span(std::size_t pool, const trace::Event& event) const;
  void note_peak(Pool& pool) const;

  const trace::Dictionary& dictionary_;
  std::uint64_t now_ns_ = 0;                 // of the event in hand, and
  std::optional<std::uint64_t> heap_block_;  // the block around its memory
  std::vector<Pool> pools_;
  std::vector<Span> memory_;
  std::vector<Span> blocks_;
  PoolLedger<ProgramPools> ledger_;
};

}  // namespace tare::core
