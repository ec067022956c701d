// What a thread has stored into Members of a group since its heaps looked last, while one of them is being marked.
//
// A store only writes down its 4 bytes; whether they name an object that isn't marked is asked for many at once. Asked
// at once, it took nine times as long to take a node of a document elsewhere as it takes while nothing is being marked:
// the answer is a branch that nobody can predict, on a value that comes from memory, and the next store waits for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tare/gc/barrier.h"

namespace tare::gc {

class Space;

// Its place in memory says where it ends, see next_store.
class alignas(barrier_details::kStoreLogBytes) StoreLog {
 public:
  // Of the calling thread's heaps in a cage; counted. False if there's no memory.
  static bool begin(Space& space) noexcept;
  static void end(Space& space) noexcept;
  // Tells all heaps that are being marked of their objects.
  static void flush(Space& space) noexcept;

 private:
  StoreLog() noexcept = default;
  static StoreLog* of_thread(std::size_t slot) noexcept;  // null if there is none

  std::uint32_t heaps_ = 0;
  std::array<std::uint32_t, barrier_details::kStoreLogBytes / sizeof(std::uint32_t) - 1> entries_;
};
static_assert(sizeof(StoreLog) == barrier_details::kStoreLogBytes);

}  // namespace tare::gc
