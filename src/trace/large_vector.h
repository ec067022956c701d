// Vectors that grow to tens of megabytes and are read at random: from a size on they lie in huge pages.
//
// A compiler's recording has a million stacks and half a million shapes. Found at random in 4 KiB pages, each costs a
// miss of the address translation besides that of the cache: huge pages took a tenth off the whole draining of cc1plus.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace tare::trace {

inline constexpr std::size_t kHugePageBytes = 2 << 20;

// Where the kernel gives no huge pages the advice is ignored, and this is an ordinary allocator.
template <typename T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): as allocators do

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    const std::size_t whole_pages = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* const memory = ::operator new(whole_pages, std::align_val_t{kHugePageBytes});
    ::madvise(memory, whole_pages, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kHugePageBytes) {
      ::operator delete(memory, std::align_val_t{alignof(T)});
    } else {
      ::operator delete(memory, std::align_val_t{kHugePageBytes});
    }
  }

  template <typename U>
  bool operator==(const LargeAllocator<U>& /*other*/) const {
    return true;
  }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace tare::trace
