// The barrier's far side: what a store tells the heap that is being marked.
#include "tare/gc/barrier.h"

#include <new>
#include <utility>

#include "lib/gc/heap_impl.h"
#include "lib/gc/store_log.h"

namespace tare::gc {

constinit std::atomic<std::uint32_t> marking_heaps[kCageSlots]{};

namespace {

// Null where no heap of this thread in that cage is being marked.
constinit thread_local StoreLog* logs[kCageSlots]{};

// The heap of an object that this thread may tell of; null for other threads'.
HeapImpl* marking_heap_of(Space& space, std::uintptr_t address) noexcept {
  if (!space.contains(address)) return nullptr;
  HeapImpl* heap = space.page(space.unit_of(address)).heap.load(std::memory_order_relaxed);
  return heap != nullptr && heap->is_of_this_thread() && heap->is_marking() ? heap : nullptr;
}

}  // namespace

bool StoreLog::begin(Space& space) noexcept {
  StoreLog*& log = logs[space.slot()];
  if (log == nullptr) log = new (std::nothrow) StoreLog;
  if (log == nullptr) return false;
  ++log->heaps_;
  return true;
}

void StoreLog::end(Space& space) noexcept {
  StoreLog*& log = logs[space.slot()];
  if (--log->heaps_ == 0) delete std::exchange(log, nullptr);
}

void StoreLog::flush(Space& space) noexcept {
  StoreLog* log = logs[space.slot()];
  if (log == nullptr) return;
  // Nearly always one heap's: each stretch of those is told together.
  std::uintptr_t addresses[kCapacity];
  std::size_t count = 0;
  HeapImpl* told = nullptr;
  const DecodingShape& shape = space.shape();
  for (std::uint32_t i = 0; i < log->count_; ++i) {
    const std::uintptr_t address = shape.origin + (std::uintptr_t{log->entries_[i] & shape.mask} << shape.shift);
    if (!space.contains(address)) continue;
    HeapImpl* heap = space.page(space.unit_of(address)).heap.load(std::memory_order_relaxed);
    if (heap != told) {
      if (marking_heap_of(space, address) == nullptr) continue;
      if (count != 0) told->mark_stored(addresses, count);
      count = 0;
      told = heap;
    }
    addresses[count++] = address;
  }
  if (count != 0) told->mark_stored(addresses, count);
  log->count_ = 0;
}

void barrier_details::stored(std::size_t slot, std::uint32_t bits) noexcept {
  StoreLog* log = logs[slot];
  if (log != nullptr && log->add(bits)) [[unlikely]]
    StoreLog::flush(*Space::at(slot));
}

void barrier_details::trace_again(std::size_t slot, const void* object) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  Space* space = Space::at(slot);
  HeapImpl* heap = space == nullptr ? nullptr : marking_heap_of(*space, address);
  if (heap != nullptr) heap->trace_again(address);
}

}  // namespace tare::gc
