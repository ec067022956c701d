// A large table straight from the kernel, which zeroes pages when they are touched: calloc zeroes memory that was used
// before at once, 300 us for 4 MiB, and a process that lives for a moment touches one page of it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

namespace tare::core {

template <typename T>
class ZeroedPages {
 public:
  static_assert(std::is_trivial_v<T>, "zeros must be a value");

  explicit ZeroedPages(std::size_t count) : count_(count) {
    void* const memory =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    table_ = static_cast<T*>(memory);
  }
  ~ZeroedPages() { ::munmap(table_, count_ * sizeof(T)); }
  ZeroedPages(const ZeroedPages&) = delete;
  ZeroedPages& operator=(const ZeroedPages&) = delete;

  T& operator[](std::size_t index) { return table_[index]; }
  const T& operator[](std::size_t index) const { return table_[index]; }

 private:
  std::size_t count_;
  T* table_;
};

}  // namespace tare::core
