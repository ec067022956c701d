// The rules of pools' life, once for everything that follows them: which pool, piece of memory or block an event means,
// and which events can't be. `Books` stores the data of pools.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "trace/model/event.h"
#include "trace/spool/program_note.h"

namespace tare::core {

// The data of pools, which a PoolLedger's rules change. It numbers pools, pieces of memory and blocks.
template <typename Books>
concept PoolLedgerBooks = requires(Books& books, const trace::Event& event, std::size_t pool, std::size_t memory,
                                   std::size_t block, std::optional<std::size_t> memory_of_block) {
  { books.pool_made(event) } -> std::same_as<std::size_t>;
  books.pool_ended(pool);
  { books.memory_got(pool, event) } -> std::same_as<std::size_t>;
  books.memory_left(pool, memory);
  { books.block_out(pool, memory_of_block, event) } -> std::same_as<std::size_t>;
  books.block_back(pool, block);
  { books.memory_bytes(memory) } -> std::same_as<std::uint64_t>;
  { books.block_bytes(block) } -> std::same_as<std::uint64_t>;
};

template <typename Books>
class PoolLedger {
 public:
  explicit PoolLedger(Books& books) : books_(books) {}

  static bool is_pool_event(trace::EventKind kind) {
    return kind >= trace::EventKind::PoolCreate && kind <= trace::EventKind::PoolDestroy;
  }

  // The process has pools that this trace doesn't know: of a forked child's parent, or of earlier segments. Such a pool
  // begins with the first memory or block that it gets here. Ends of what it had before aren't impossible.
  void adopt_earlier() { adopts_ = true; }

  void consume(const trace::Event& event) {
    static_assert(PoolLedgerBooks<Books>);  // here, because Books is incomplete while it declares its ledger
    using trace::EventKind;
    const std::uint32_t number = number_of(event);
    const std::uint64_t address = trace::pool_address(event.address);
    auto found = pools_.find(number);
    if (event.kind == EventKind::PoolFree) last_freed_[event.thread] = number;
    if (event.kind == EventKind::PoolCreate) {
      if (found != pools_.end()) {  // its end was lost
        ++impossible_events_;
        end(found);
      }
      pools_[number].id = books_.pool_made(event);
      return;
    }
    if (found == pools_.end()) {
      const bool gets = number != 0 && (event.kind == EventKind::PoolGrow || event.kind == EventKind::PoolAlloc);
      if (!adopts_) ++impossible_events_;
      if (!adopts_ || !gets) return;
      trace::Event nameless = event;
      nameless.shape = trace::kNoShape;  // of a PoolCreate: the name
      found = pools_.emplace(number, Pool{books_.pool_made(nameless), true, {}, {}}).first;
    }
    Pool& pool = found->second;
    switch (event.kind) {
      case EventKind::PoolGrow:
        if (pool.memory.contains(address)) shrink(pool, address, Verdict::Impossible);
        pool.memory.emplace(address, books_.memory_got(pool.id, event));
        break;
      case EventKind::PoolShrink:
        shrink(pool, address, Verdict::Fine);
        break;
      case EventKind::PoolAlloc: {
        if (const auto before = pool.blocks.find(address); before != pool.blocks.end()) {
          // Pools hand out the same address twice if the first block has no bytes.
          const bool was_empty = books_.block_bytes(before->second) == 0;
          free(pool, address, was_empty ? Verdict::Fine : Verdict::Impossible);
        }
        const std::size_t block = books_.block_out(pool.id, memory_around(pool, address), event);
        pool.blocks.emplace(address, block);
        blocks_[address] = {block, number};
        break;
      }
      case EventKind::PoolFree:
        free(pool, address, Verdict::Fine);
        break;
      case EventKind::PoolReset:
        reset(pool);
        break;
      case EventKind::PoolDestroy:
        end(found);
        break;
      default:
        break;
    }
  }

  // The block that a pool, the last to do so, handed out at this address.
  std::optional<std::size_t> block_at(std::uint64_t address) const {
    const auto found = blocks_.find(address);
    return found == blocks_.end() ? std::nullopt : std::optional(found->second.block);
  }

  template <typename Visit>
  void for_each_memory(Visit&& visit) const {
    for (const auto& [number, pool] : pools_) {
      for (const auto& [address, memory] : pool.memory) visit(memory);
    }
  }

  // Events of pools, memory or blocks that weren't there, or were there already.
  std::uint64_t impossible_events() const { return impossible_events_; }

 private:
  enum class Verdict : std::uint8_t { Fine, Impossible };
  struct Pool {
    std::size_t id = 0;
    bool is_earlier = false;
    std::map<std::uint64_t, std::size_t> memory;            // by address
    std::unordered_map<std::uint64_t, std::size_t> blocks;  // by address
  };
  using Pools = std::unordered_map<std::uint32_t, Pool>;
  struct Owned {
    std::size_t block;
    std::uint32_t pool;
  };

  // Of a described allocator the recorder doesn't know the pool of a free or of a resize, and writes 0. A PoolFree is
  // then of the pool that was the last to hand out a block there, a PoolAlloc of the pool of its thread's last
  // PoolFree.
  std::uint32_t number_of(const trace::Event& event) const {
    const std::uint32_t number = trace::pool_of(event.address);
    if (number != 0) return number;
    if (event.kind == trace::EventKind::PoolFree) {
      const auto owned = blocks_.find(trace::pool_address(event.address));
      return owned == blocks_.end() ? 0 : owned->second.pool;
    }
    const auto freed = last_freed_.find(event.thread);
    return freed == last_freed_.end() || event.kind != trace::EventKind::PoolAlloc ? 0 : freed->second;
  }

  std::optional<std::size_t> memory_around(const Pool& pool, std::uint64_t address) {
    auto after = pool.memory.upper_bound(address);
    if (after == pool.memory.begin()) return std::nullopt;
    const auto& [start, memory] = *--after;
    if (address - start >= books_.memory_bytes(memory)) return std::nullopt;
    return memory;
  }

  void shrink(Pool& pool, std::uint64_t address, Verdict verdict) {
    const auto memory = pool.memory.find(address);
    const bool is_unknown = memory == pool.memory.end() && !pool.is_earlier;
    if (is_unknown || verdict == Verdict::Impossible) ++impossible_events_;
    if (memory == pool.memory.end()) return;
    books_.memory_left(pool.id, memory->second);
    pool.memory.erase(memory);
  }

  void free(Pool& pool, std::uint64_t address, Verdict verdict) {
    const auto block = pool.blocks.find(address);
    const bool is_unknown = block == pool.blocks.end() && !pool.is_earlier;
    if (is_unknown || verdict == Verdict::Impossible) ++impossible_events_;
    if (block == pool.blocks.end()) return;
    forget(address, block->second);
    books_.block_back(pool.id, block->second);
    pool.blocks.erase(block);
  }

  void forget(std::uint64_t address, std::size_t block) {
    const auto known = blocks_.find(address);
    if (known != blocks_.end() && known->second.block == block) blocks_.erase(known);
  }

  void reset(Pool& pool) {
    for (const auto& [address, block] : pool.blocks) {
      forget(address, block);
      books_.block_back(pool.id, block);
    }
    pool.blocks.clear();
  }

  void end(typename Pools::iterator at) {
    Pool& pool = at->second;
    reset(pool);
    for (const auto& [address, memory] : pool.memory) books_.memory_left(pool.id, memory);
    books_.pool_ended(pool.id);
    pools_.erase(at);
  }

  Books& books_;
  Pools pools_;                                                  // those that are there, by number
  std::unordered_map<std::uint64_t, Owned> blocks_;              // those of all pools, by address
  std::unordered_map<std::uint16_t, std::uint32_t> last_freed_;  // of each thread: the pool of the last block
  std::uint64_t impossible_events_ = 0;
  bool adopts_ = false;
};

}  // namespace tare::core
