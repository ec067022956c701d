// Pools of described allocators: their numbers in the trace by their addresses, and which pool is another's child.
//
// A pool's number is its slot in an open-addressed table, so that finding it takes no lock: while a call uses a pool,
// no other thread may end it. A lock of the table's own guards all changes. It is held for some instructions, and never
// while an event is written. The memory is reserved at the first pool: programs without described pools have none.
#pragma once

#include <atomic>
#include <cstdint>

namespace tare::recorder {

class PoolTable {
 public:
  static constexpr std::uint32_t kMostPools = 0xc000;
  static constexpr std::uint64_t kNoPool = 3;  // stands for the null pointer as a pool

  // The number of the pool at `address`; 0: unknown.
  std::uint32_t find(std::uint64_t address) const;
  // Enters an unknown pool as a child of number `parent` (0: none). 0: there is no number left.
  std::uint32_t add(std::uint64_t address, std::uint32_t parent);
  void move(std::uint32_t pool, std::uint32_t parent);

  // Distinguishes pools that had one number after each other.
  std::uint32_t generation(std::uint32_t pool) const { return slot(pool).generation; }

  void note_block(std::uint32_t pool) { slot(pool).has_blocks.store(1, std::memory_order_relaxed); }
  // Whether the pool has handed out a block since the last call.
  bool take_blocks(std::uint32_t pool) { return slot(pool).has_blocks.exchange(0, std::memory_order_relaxed) != 0; }

  // A pool without children, among the descendants of `pool`. It isn't found any more, but keeps its number until
  // release(). 0: there are none.
  std::uint32_t take_descendant(std::uint32_t pool);
  // The same of the pool itself, which has no children. False: that pool has ended before.
  bool take(std::uint32_t pool, std::uint64_t address, std::uint32_t generation);
  void release(std::uint32_t pool);

  // In a forked child, before it has a second thread: the pools are the parent's, and the lock may be.
  void forget_all();

 private:
  struct Slot {
    std::atomic<std::uint64_t> key;  // the pool's address, or kEmpty, kGone, kEnding
    std::uint32_t generation;
    std::uint16_t parent;  // numbers; 0: none
    std::uint16_t first_child;
    std::uint16_t next;  // of the parent's children
    std::uint16_t previous;
    std::atomic<std::uint8_t> has_blocks;
  };
  class Locked;
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::uint64_t kGone = 1;  // further keys may follow
  static constexpr std::uint64_t kEnding = 2;
  static constexpr std::uint32_t kSlots = 0xffff;

  static std::uint32_t first_slot(std::uint64_t address);
  static std::uint32_t after(std::uint32_t index) { return index + 1 == kSlots ? 0 : index + 1; }
  static std::uint32_t before(std::uint32_t index) { return index == 0 ? kSlots - 1 : index - 1; }
  Slot& slot(std::uint32_t pool) const { return slots_.load(std::memory_order_acquire)[pool - 1]; }
  void link(std::uint32_t pool, std::uint32_t parent);
  void unlink(std::uint32_t pool);

  std::atomic<Slot*> slots_{nullptr};
  std::atomic<bool> lock_{false};
  std::uint32_t count_ = 0;
  std::uint32_t generations_ = 0;
};

extern PoolTable described_pools;

}  // namespace tare::recorder
