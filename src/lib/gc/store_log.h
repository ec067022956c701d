// What a thread has stored into Members of a group since its heaps looked last, while one of them is being marked.
//
// A store only writes down its 4 bytes; whether they name an object that isn't marked is asked for many at once. Asked
// at once, it took nine times as long to take a node of a document elsewhere as it takes while nothing is being marked:
// the answer is a branch that nobody can predict, on a value that comes from memory, and the next store waits for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::gc {

class Space;

class StoreLog {
 public:
  // Of the calling thread's heaps in a cage; counted. False if there's no memory.
  static bool begin(Space& space) noexcept;
  static void end(Space& space) noexcept;
  // Tells all heaps that are being marked of their objects.
  static void flush(Space& space) noexcept;

  // Whether it is full then.
  bool add(std::uint32_t bits) noexcept {
    entries_[count_] = bits;
    count_ += bits > 1 ? 1 : 0;
    return count_ == kCapacity;
  }

 private:
  static constexpr std::uint32_t kCapacity = 2048;  // 8 KiB: a quarter of the first-level cache

  std::uint32_t heaps_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t entries_[kCapacity];
};

}  // namespace tare::gc
