// The stores of a thread into Members of a group since its heaps last read them, while one of them is being marked.
//
// A store only logs its 4 bytes; the test for an unmarked target is done for many stores at once. A test for each store
// made moving a node of a document nine times as slow as without marking: it is an unpredictable branch on a value from
// memory, and the next store waits for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tare/gc/barrier.h"

namespace tare::inline TARE_ABI::gc {

class Space;

// Its address determines its end, see next_store.
class alignas(barrier_details::kStoreLogBytes) StoreLog {
 public:
  // Of the calling thread's heaps in a cage; counted. False if there's no memory.
  static bool begin(Space& space) noexcept;
  static void end(Space& space) noexcept;
  // Passes the stores to all heaps that are being marked.
  static void flush(Space& space) noexcept;

 private:
  StoreLog() noexcept = default;
  static StoreLog* of_thread(std::size_t slot) noexcept;  // null if there is none

  std::uint32_t heaps_ = 0;
  std::array<std::uint32_t, barrier_details::kStoreLogBytes / sizeof(std::uint32_t) - 1> entries_;
};
static_assert(sizeof(StoreLog) == barrier_details::kStoreLogBytes);

}  // namespace tare::inline TARE_ABI::gc
