// tare/good_size_allocator.h: an allocator for standard containers that gives whole size classes.
//
//   std::vector<Edge, tare::GoodSizeAllocator<Edge>> edges;
//
// Containers that call allocate_at_least() (C++23) get as many elements as malloc's block has room for, and grow less
// often for the same memory; others get the requested number, as from std::allocator. Memory is malloc's
// (aligned_alloc's for types aligned further), so it may be freed by free().
//
// Any thread. Without memory, std::bad_alloc is thrown, as the standard requires; without exceptions the program ends.
// For arrays that should return an error take a tare::Buffer.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "tare/good_size.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

template <typename T>
class GoodSizeAllocator {
 public:
  using value_type = T;
  // std::allocation_result, which libraries before C++23 lack.
  struct Allocation {
    T* ptr;
    std::size_t count;
  };

  constexpr GoodSizeAllocator() noexcept = default;
  template <typename U>
  constexpr GoodSizeAllocator(const GoodSizeAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t count) {
    void* block = nullptr;
    if (count <= kLargestRequest / sizeof(T)) {
      if constexpr (alignof(T) > alignof(std::max_align_t)) {
        block = std::aligned_alloc(alignof(T), count * sizeof(T));
      } else {
        block = std::malloc(count * sizeof(T));
      }
    }
    if (block == nullptr && count != 0) fail();
    return static_cast<T*>(block);
  }
  // At least `count`; deallocate() may be given either number.
  [[nodiscard]] Allocation allocate_at_least(std::size_t count) {
    const std::size_t more = alignof(T) > alignof(std::max_align_t) ? count : capacity_for_elements(count, sizeof(T));
    return {allocate(more), more};
  }
  void deallocate(T* block, std::size_t) noexcept { std::free(static_cast<void*>(block)); }

  friend constexpr bool operator==(const GoodSizeAllocator&, const GoodSizeAllocator&) noexcept { return true; }

 private:
  [[noreturn]] static void fail() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
  }
};

template <typename T, typename U>
constexpr bool operator==(const GoodSizeAllocator<T>&, const GoodSizeAllocator<U>&) noexcept {
  return true;
}

}  // namespace tare::inline TARE_ABI
