// State of groups of heaps that inline code reads: bases of cages, the number of heaps that are being marked, and
// places of old objects.
//
// Each copy of a static library has these variables hidden, so that a plug-in's code reaches them without the global
// offset table. But a class of a header that two plug-ins share has one set of inline functions, of either plug-in, and
// those must read the same of a heap wherever they come from. So the copies that share their state
// (tare/internal/export.h) have each other's variables, and each write goes to all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include "lib/fork/mutex.h"

#include "tare/gc/barrier.h"
#include "tare/internal/export.h"

namespace tare::inline TARE_ABI::gc {

class InlineState {
 public:
  // A copy's variables. They get the present values now, and all others until they leave.
  struct Copy {
    std::uintptr_t* bases;
    std::atomic<std::uint32_t>* marking_heaps;
    barrier_details::OldPlaces* old_places;
    Copy* next = nullptr;
  };
  void join(Copy& copy) noexcept;
  void leave(Copy& copy) noexcept;

  void set_base(std::size_t slot, std::uintptr_t base) noexcept;
  void set_old_places(std::size_t slot, const barrier_details::OldPlaces& places) noexcept;
  void count_marking_heap(std::size_t slot, std::int32_t change) noexcept;

  void lock_for_fork() noexcept TARE_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() noexcept TARE_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  Mutex mutex_;
  Copy* first_ TARE_GUARDED_BY(mutex_) = nullptr;
  std::uintptr_t bases_[kCageSlots] TARE_GUARDED_BY(mutex_) = {};
  std::uint32_t marking_heaps_[kCageSlots] TARE_GUARDED_BY(mutex_) = {};
  barrier_details::OldPlaces old_places_[kCageSlots] TARE_GUARDED_BY(mutex_) = {};
};

extern TARE_STATE constinit InlineState inline_state;

// The variables of this copy of the library join and leave. Hidden: with default visibility, two plug-ins that are
// linked with one program would both call the first one's functions, and its variables would join twice.
[[gnu::visibility("hidden")]] void join_inline_state(std::uintptr_t* bases) noexcept;
[[gnu::visibility("hidden")]] void leave_inline_state() noexcept;

}  // namespace tare::inline TARE_ABI::gc
