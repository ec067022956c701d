// Open addressing with marks for ended pools: see pool_table.h.
#include "recorder/foreign/pool_table.h"

#include "recorder/reports/report.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

constinit PoolTable described_pools;

class PoolTable::Locked {
 public:
  explicit Locked(PoolTable& table) : lock_(table.lock_) {
    while (lock_.exchange(true, std::memory_order_acquire)) arch::pause();
  }
  ~Locked() { lock_.store(false, std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::atomic<bool>& lock_;
};

// Pools begin 512 bytes apart or more. Neighbours share a page of the table.
std::uint32_t PoolTable::first_slot(std::uint64_t address) {
  return static_cast<std::uint32_t>((address >> 9 ^ address >> 25) % kSlots);
}

std::uint32_t PoolTable::find(std::uint64_t address) const {
  const Slot* const slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr) return 0;
  std::uint32_t index = first_slot(address);
  for (std::uint32_t probes = 0; probes < kSlots; ++probes, index = after(index)) {
    const std::uint64_t key = slots[index].key.load(std::memory_order_acquire);
    if (key == address) return index + 1;
    if (key == kEmpty) return 0;
  }
  return 0;
}

std::uint32_t PoolTable::add(std::uint64_t address, std::uint32_t parent) {
  const Locked locked(*this);
  Slot* slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr) {
    slots = static_cast<Slot*>(reserve_zeroed(kSlots * sizeof(Slot)));
    if (slots == nullptr) return 0;
    slots_.store(slots, std::memory_order_release);
  }
  if (count_ == kMostPools) return 0;
  std::uint32_t index = first_slot(address);
  for (std::uint32_t probes = 0; probes < kSlots; ++probes, index = after(index)) {
    Slot& free = slots[index];
    const std::uint64_t key = free.key.load(std::memory_order_relaxed);
    if (key != kEmpty && key != kGone) continue;
    if (!take_pool_number(index + 1)) {  // a pool of tare/reporter.h has it
      free.key.store(kGone, std::memory_order_relaxed);
      continue;
    }
    free.generation = ++generations_;
    free.parent = free.first_child = free.next = free.previous = 0;
    free.has_blocks.store(0, std::memory_order_relaxed);
    free.key.store(address, std::memory_order_release);
    ++count_;
    link(index + 1, parent);
    return index + 1;
  }
  return 0;
}

void PoolTable::link(std::uint32_t pool, std::uint32_t parent) {
  if (parent == 0) return;
  Slot& child = slot(pool);
  Slot& above = slot(parent);
  child.parent = static_cast<std::uint16_t>(parent);
  child.previous = 0;
  child.next = above.first_child;
  if (child.next != 0) slot(child.next).previous = static_cast<std::uint16_t>(pool);
  above.first_child = static_cast<std::uint16_t>(pool);
}

void PoolTable::unlink(std::uint32_t pool) {
  Slot& child = slot(pool);
  if (child.parent == 0) return;
  if (child.previous != 0)
    slot(child.previous).next = child.next;
  else
    slot(child.parent).first_child = child.next;
  if (child.next != 0) slot(child.next).previous = child.previous;
  child.parent = child.next = child.previous = 0;
}

void PoolTable::move(std::uint32_t pool, std::uint32_t parent) {
  const Locked locked(*this);
  // A wrong description may name a descendant as the parent.
  for (std::uint32_t above = parent; above != 0; above = slot(above).parent) {
    if (above == pool) return;
  }
  unlink(pool);
  link(pool, parent);
}

std::uint32_t PoolTable::take_descendant(std::uint32_t pool) {
  const Locked locked(*this);
  std::uint32_t last = pool;
  while (slot(last).first_child != 0) last = slot(last).first_child;
  if (last == pool) return 0;
  unlink(last);
  slot(last).key.store(kEnding, std::memory_order_release);
  return last;
}

bool PoolTable::take(std::uint32_t pool, std::uint64_t address, std::uint32_t generation) {
  const Locked locked(*this);
  Slot& ended = slot(pool);
  if (ended.key.load(std::memory_order_relaxed) != address || ended.generation != generation) return false;
  unlink(pool);
  ended.key.store(kEnding, std::memory_order_release);
  return true;
}

void PoolTable::release(std::uint32_t pool) {
  const Locked locked(*this);
  Slot* const slots = slots_.load(std::memory_order_relaxed);
  std::uint32_t index = pool - 1;
  slots[index].key.store(kGone, std::memory_order_release);
  give_pool_number_back(pool);
  --count_;
  // No search goes on behind the last mark of a row.
  if (slots[after(index)].key.load(std::memory_order_relaxed) != kEmpty) return;
  for (std::uint32_t i = 0; i < kSlots && slots[index].key.load(std::memory_order_relaxed) == kGone; ++i) {
    slots[index].key.store(kEmpty, std::memory_order_release);
    index = before(index);
  }
}

void PoolTable::forget_all() {
  lock_.store(false, std::memory_order_relaxed);
  Slot* const slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr) return;
  for (std::uint32_t index = 0; index < kSlots && count_ != 0; ++index) {
    const std::uint64_t key = slots[index].key.load(std::memory_order_relaxed);
    if (key == kEmpty || key == kGone) continue;
    give_pool_number_back(index + 1);
    --count_;
  }
  slots_.store(nullptr, std::memory_order_relaxed);
  give_back(slots, kSlots * sizeof(Slot));
  count_ = 0;
}

}  // namespace tare::recorder
