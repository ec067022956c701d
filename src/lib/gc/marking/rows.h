// A list of plain values that grows. If it can't grow, the program ends: the collector can't do without its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "lib/gc/threads/stop.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

template <class T>
class Rows {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Rows() noexcept = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() { std::free(begin_); }

  T* begin() noexcept { return begin_; }
  T* end() noexcept { return begin_ + size_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return begin_[i]; }
  void set_size(std::size_t size) noexcept { size_ = size; }

  void push(const T& row) noexcept {
    if (size_ == capacity_) grow();
    begin_[size_++] = row;
  }
  void append(const T* rows, std::size_t count) noexcept {
    while (capacity_ - size_ < count) grow();
    if (count != 0) std::memcpy(begin_ + size_, rows, count * sizeof(T));
    size_ += count;
  }
  T pop() noexcept { return begin_[--size_]; }

  void grow() noexcept {
    const std::size_t wanted = capacity_ == 0 ? 64 : capacity_ * 2;
    void* grown = std::realloc(begin_, wanted * sizeof(T));
    if (grown == nullptr) stop("no memory for the collector's lists");
    begin_ = static_cast<T*>(grown);
    capacity_ = wanted;
  }
  // Gives memory back that a rare case took.
  void shrink_to(std::size_t most) noexcept {
    if (capacity_ <= most || size_ > most) return;
    void* shrunk = std::realloc(begin_, most * sizeof(T));
    if (shrunk == nullptr) return;
    begin_ = static_cast<T*>(shrunk);
    capacity_ = most;
  }

 private:
  T* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tare::inline TARE_ABI::gc
