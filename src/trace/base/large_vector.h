// Vectors that grow to tens of megabytes and are read at random: from a size on they lie in huge pages.
//
// A compiler's recording has a million stacks and half a million shapes. Found at random in 4 KiB pages, each costs a
// miss of the address translation besides that of the cache: huge pages took a tenth off the whole draining of cc1plus.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace tare::trace {

inline constexpr std::size_t kHugePageBytes = 2 << 20;

constexpr std::size_t whole_huge_pages(std::size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

// Zeros, aligned to a huge page; nothing is taken before it is touched. The first 2 MiB are small pages: a process of
// which little is recorded would pay for clearing a huge one. Null if there's no room.
inline void* map_large(std::size_t bytes) {
  const std::size_t size = whole_huge_pages(bytes);
  void* const map = ::mmap(nullptr, size + kHugePageBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(map);
  const std::size_t before =
      whole_huge_pages(reinterpret_cast<std::uintptr_t>(begin)) - reinterpret_cast<std::uintptr_t>(begin);
  if (before != 0) ::munmap(begin, before);
  if (before != kHugePageBytes) ::munmap(begin + before + size, kHugePageBytes - before);
  // Where the kernel gives no huge pages the advice is ignored.
  ::madvise(begin + before + kHugePageBytes, size - kHugePageBytes, MADV_HUGEPAGE);
  return begin + before;
}

template <typename T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): as allocators do

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    void* const memory = map_large(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kHugePageBytes) {
      ::operator delete(memory, std::align_val_t{alignof(T)});
    } else {
      ::munmap(memory, whole_huge_pages(count * sizeof(T)));
    }
  }

  template <typename U>
  bool operator==(const LargeAllocator<U>& /*other*/) const {
    return true;
  }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

// Room for `count` elements. A large vector reserves address space, so that it grows in place: by doubling, a
// compiler's took 148 MB of huge pages. Each is cleared first, which costs 2 ms a page on a virtual machine whose host
// has reclaimed it.
template <typename T>
[[gnu::noinline]] void make_room(LargeVector<T>& vector, std::size_t count) {
  constexpr std::size_t kAhead = 64;
  if (count <= vector.capacity()) return;
  const std::size_t doubled = std::max(count, vector.size() * 2);
  if (doubled * sizeof(T) >= kHugePageBytes) {
    try {
      return vector.reserve(doubled * kAhead);
    } catch (const std::bad_alloc&) {  // a limit of address space
      return vector.reserve(doubled);
    }
  }
  vector.reserve(doubled);
}

// One more element, at the end.
template <typename T>
void append(LargeVector<T>& vector, const T& element) {
  if (vector.size() == vector.capacity()) [[unlikely]]
    make_room(vector, vector.size() + 1);
  vector.push_back(element);
}

}  // namespace tare::trace
