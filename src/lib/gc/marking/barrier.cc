// The slow side of the write barrier: passes stores to the heap that is being marked.
#include "tare/gc/barrier.h"

#include <new>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/marking/store_log.h"

namespace tare::inline TARE_ABI::gc {

namespace {

// True if this thread may report objects to the heap: not if the heap belongs to another thread.
bool is_to_be_told(const HeapImpl* heap) noexcept {
  return heap != nullptr && heap->is_of_this_thread() && heap->is_marking();
}

}  // namespace

TARE_STATE constinit thread_local std::uint32_t* barrier_details::next_store[kCageSlots]{};

// It ends where the log does, but never lies at its beginning.
StoreLog* StoreLog::of_thread(std::size_t slot) noexcept {
  const auto next = reinterpret_cast<std::uintptr_t>(barrier_details::next_store[slot]);
  if (next == 0) return nullptr;
  return reinterpret_cast<StoreLog*>((next - 1) & ~(alignof(StoreLog) - 1));
}

bool StoreLog::begin(Space& space) noexcept {
  StoreLog* log = of_thread(space.slot());
  if (log == nullptr) {
    log = new (std::nothrow) StoreLog;
    if (log == nullptr) return false;
    barrier_details::next_store[space.slot()] = log->entries_.data();
  }
  ++log->heaps_;
  return true;
}

void StoreLog::end(Space& space) noexcept {
  StoreLog* log = of_thread(space.slot());
  if (--log->heaps_ != 0) return;
  barrier_details::next_store[space.slot()] = nullptr;
  delete log;
}

void StoreLog::flush(Space& space) noexcept {
  StoreLog* log = of_thread(space.slot());
  if (log == nullptr) return;
  std::uint32_t*& next = barrier_details::next_store[space.slot()];
  std::uint32_t* const granules = log->entries_.data();  // which overwrite the entries already read
  // Null or marked references are as frequent as others, so there is no branch. An object's mark can't be mistaken for
  // that of a mixin in the one before it: a mixin ends 12 bytes before the next object, because mixins and objects with
  // mixins are aligned to 8.
  const DecodingShape shape = space.shape();
  std::uint64_t* const marks = space.marks();
  const std::size_t end_granule = space.end_granule();
  std::size_t unmarked = 0;
  for (const std::uint32_t *entry = granules, *end = next; entry != end; ++entry) {
    const std::size_t granule = (std::size_t{*entry & shape.mask} << shape.shift) / cell::kGranuleBytes;
    if (granule >= end_granule) continue;  // any kind of reference
    const std::size_t bit = granule / (cell::kMarkGranuleBytes / cell::kGranuleBytes);
    const std::uint64_t word = std::atomic_ref<std::uint64_t>(marks[bit / 64]).load(std::memory_order_relaxed);
    granules[unmarked] = static_cast<std::uint32_t>(granule);
    unmarked += (granule > 1 ? 1 : 0) & ~(word >> (bit % 64));
  }
  next = granules;
  // Nearly always references of one heap: each stretch of these is passed on together.
  std::size_t count = 0;
  HeapImpl* told = nullptr;
  for (std::size_t i = 0; i < unmarked; ++i) {
    const std::uint32_t granule = granules[i];
    HeapImpl* heap = space.page(space.unit_of_granule(granule)).heap.load(std::memory_order_relaxed);
    if (heap != told) {
      if (!is_to_be_told(heap)) continue;
      if (count != 0) told->mark_stored(granules, count);
      count = 0;
      told = heap;
    }
    granules[count++] = granule;
  }
  if (count != 0) told->mark_stored(granules, count);
}

void barrier_details::stored_without_room(std::size_t slot, std::uint32_t bits) noexcept {
  std::uint32_t*& next = next_store[slot];
  if (next == nullptr) return;  // no heap of this thread is being marked
  StoreLog::flush(*Space::at(slot));
  *next++ = bits;
}

void barrier_details::trace_again(std::size_t slot, const void* object) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  Space* space = Space::at(slot);
  if (space == nullptr || !space->contains(address)) return;
  HeapImpl* heap = space->page(space->unit_of(address)).heap.load(std::memory_order_relaxed);
  if (is_to_be_told(heap)) heap->trace_again(address);
}

// Not while the heap is being marked: all objects that survive will be old.
void barrier_details::remember(std::size_t slot, const void* place) noexcept {
  Space& space = *Space::at(slot);
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  HeapImpl* heap = space.page(space.unit_of(address)).heap.load(std::memory_order_relaxed);
  if (heap != nullptr && heap->is_of_this_thread() && !heap->is_marking()) heap->remember(address);
}

}  // namespace tare::inline TARE_ABI::gc
