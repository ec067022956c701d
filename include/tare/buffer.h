// tare/buffer.h: a growable array that asks the allocator in use for its size classes.
//
//   tare::Buffer<Edge> edges;
//   if (!edges.append(edge)) return out_of_memory();      // amortized constant, as std::vector's push_back
//
//   tare::Buffer<int> children;
//   if (!children.reserve_exactly(count)) ...             // the count is known: one malloc, no growth, no shrinking
//
//   tare::Buffer<char> body = ...;
//   auto [data, size, capacity] = std::move(body).release();  // malloc's block, as a bare pointer
//   tare::Bytes shared = tare::Bytes::adopt_malloced(data, size);
//
// 16 bytes, where std::vector has 24: counts are 32-bit, up to 4,294,967,295 elements (`Size` = std::size_t for more).
// An empty Buffer holds no memory, the first element brings its size class. How much it grows by is `Growth`'s matter:
// see tare/growth.h. Elements that may be moved as bytes (is_trivially_relocatable) grow by realloc, which needn't copy
// where the block can be extended, and moves pages instead of bytes where it is large; others are moved one by one.
//
// Nothing throws, and nothing aborts. What needs memory returns false (or null) when there's none, or when a size would
// overflow, and has then changed nothing. Elements' moves mustn't throw; elements may be move-only. References and
// iterators end when capacity changes. Indexes aren't checked, save by assert.
//
// Different threads may read one Buffer at once; writing needs it alone.
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tare/good_size.h"
#include "tare/growth.h"

namespace tare {

// Whether a T may be moved by copying its bytes and forgetting the original. Specialize it for your own types that hold
// no pointers into themselves and aren't known by address: most are so.
template <typename T>
inline constexpr bool is_trivially_relocatable = std::is_trivially_copyable_v<T>;

template <typename T, typename Growth = GrowByClass, typename Size = std::uint32_t>
class Buffer {
 public:
  static_assert(alignof(T) <= alignof(std::max_align_t), "malloc aligns no further");
  static_assert(is_trivially_relocatable<T> || std::is_nothrow_move_constructible_v<T>);
  static_assert(std::is_nothrow_destructible_v<T>);

  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  static constexpr std::size_t kMostElements =
      std::min<std::size_t>(std::numeric_limits<Size>::max(), kLargestRequest / sizeof(T));

  constexpr Buffer() noexcept = default;
  Buffer(const Buffer&) = delete;  // it could fail: use append_all
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Buffer() {
    std::destroy(begin(), end());
    std::free(static_cast<void*>(data_));
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  // ---- reading

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }
  T& operator[](std::size_t index) noexcept {
    assert(index < size_);
    return data_[index];
  }
  const T& operator[](std::size_t index) const noexcept {
    assert(index < size_);
    return data_[index];
  }
  T& back() noexcept { return (*this)[size_ - 1]; }
  const T& back() const noexcept { return (*this)[size_ - 1]; }

  // ---- growing

  // Makes an element at the end of `arguments`, which may refer to elements of this Buffer. Null without memory.
  template <typename... Arguments>
  T* emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) [[unlikely]]
      return emplace_slowly(std::forward<Arguments>(arguments)...);
    T* made = new (static_cast<void*>(data_ + size_)) T(std::forward<Arguments>(arguments)...);
    ++size_;
    return made;
  }
  [[nodiscard]] bool append(const T& value) { return emplace_back(value) != nullptr; }
  [[nodiscard]] bool append(T&& value) { return emplace_back(std::move(value)) != nullptr; }

  // Copies all of them to the end. They may be elements of this Buffer.
  [[nodiscard]] bool append_all(std::span<const T> values) {
    const T* from = values.data();
    if (values.size() > static_cast<std::size_t>(capacity_ - size_)) [[unlikely]] {
      const std::less<const T*> before;
      const bool is_own = !before(from, begin()) && before(from, end());
      const std::size_t offset = is_own ? static_cast<std::size_t>(from - data_) : 0;
      if (!reserve(values.size())) return false;
      if (is_own) from = data_ + offset;  // which moved
    }
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (!values.empty()) std::memcpy(static_cast<void*>(end()), from, values.size_bytes());
    } else {
      std::uninitialized_copy_n(from, values.size(), end());
    }
    size_ += static_cast<Size>(values.size());
    return true;
  }

  // A Buffer<char>'s append_all for text: of a literal without its terminating zero.
  [[nodiscard]] bool append_text(std::string_view text)
    requires std::same_as<T, char>
  {
    return append_all(text);
  }

  // `count` elements more at the end, not initialized, for the caller to fill. Null without memory, or for count 0 in a
  // Buffer that has none.
  T* append_uninitialized(std::size_t count) noexcept
    requires std::is_trivially_copyable_v<T>
  {
    if (!reserve(count)) return nullptr;
    T* first = end();
    size_ += static_cast<Size>(count);
    return first;
  }

  // Makes room for `more` elements behind the present ones, by Growth: repeated calls cost amortized constant time.
  [[nodiscard]] bool reserve(std::size_t more) noexcept {
    if (more <= static_cast<std::size_t>(capacity_ - size_)) return true;
    return more <= kMostElements - size_ && grow(size_ + more);
  }

  // Makes room for `count` elements in all, and asks for no more than that: what is known needs no growth. The class's
  // rest stays unused; a capacity that is larger already stays.
  [[nodiscard]] bool reserve_exactly(std::size_t count) noexcept {
    return count <= capacity_ || (count <= kMostElements && set_capacity(count));
  }

  // Makes the size `count`: new elements are value-initialized, surplus ones destroyed.
  [[nodiscard]] bool resize(std::size_t count) {
    if (count > size_) {
      if (!reserve(count - size_)) return false;
      std::uninitialized_value_construct(end(), data_ + count);
    } else {
      std::destroy(data_ + count, end());
    }
    size_ = static_cast<Size>(count);
    return true;
  }

  // ---- shrinking

  void pop_back() noexcept {
    assert(size_ > 0);
    std::destroy_at(data_ + --size_);
  }

  // Destroys the elements and keeps the memory.
  void clear() noexcept {
    std::destroy(begin(), end());
    size_ = 0;
  }

  // Gives back what a smaller class would save, and asks for nothing if none would: a Buffer of exactly known size
  // costs no realloc at its end ("a faster GVariantBuilder"). False if malloc refuses, which changes nothing.
  bool shrink_to_fit() noexcept {
    if (size_ == 0) {
      std::free(static_cast<void*>(std::exchange(data_, nullptr)));
      capacity_ = 0;
      return true;
    }
    if (good_size(size_ * sizeof(T)) >= good_size(capacity_ * sizeof(T))) return true;
    return set_capacity(size_);
  }

  // ---- owning

  struct Released {
    T* data;  // to be freed by free(), the elements in it to be destroyed; null for a Buffer without memory
    std::size_t size;
    std::size_t capacity;
  };
  [[nodiscard]] Released release() && noexcept {
    return {std::exchange(data_, nullptr), std::exchange(size_, 0), std::exchange(capacity_, 0)};
  }
  // Takes over a block of malloc with `size` elements in room for `capacity`. Counts must be within kMostElements.
  [[nodiscard]] static Buffer adopt(Released block) noexcept {
    Buffer adopted;
    adopted.data_ = block.data;
    adopted.size_ = static_cast<Size>(block.size);
    adopted.capacity_ = static_cast<Size>(block.capacity);
    return adopted;
  }

  // For a Reporter: what the block takes, without what elements own. `size_of` is a tare::SizeOf or any function of a
  // block's address.
  template <typename SizeOf>
  std::size_t size_of_excluding_this(SizeOf&& size_of) const {
    return data_ != nullptr ? size_of(static_cast<const void*>(data_)) : 0;
  }

 private:
  template <typename... Arguments>
  [[gnu::noinline]] T* emplace_slowly(Arguments&&... arguments) {
    T made(std::forward<Arguments>(arguments)...);  // first: an argument may lie in the block that goes
    if (!reserve(1)) return nullptr;
    T* place = new (static_cast<void*>(data_ + size_)) T(std::move(made));
    ++size_;
    return place;
  }

  bool grow(std::size_t needed) noexcept {
    const auto good = [](std::size_t bytes) { return good_size(bytes); };
    const std::size_t bytes = Growth::next_bytes(capacity_ * sizeof(T), needed * sizeof(T), good);
    const std::size_t count = std::min(bytes / sizeof(T), kMostElements);
    // who can't have what is good may still have what is needed
    return set_capacity(count) || (count > needed && set_capacity(needed));
  }

  bool set_capacity(std::size_t count) noexcept {
    if constexpr (is_trivially_relocatable<T>) {
      void* block = std::realloc(static_cast<void*>(data_), count * sizeof(T));
      if (block == nullptr) return false;
      data_ = static_cast<T*>(block);
    } else {
      void* block = std::malloc(count * sizeof(T));
      if (block == nullptr) return false;
      T* moved = static_cast<T*>(block);
      for (Size i = 0; i < size_; ++i) {
        new (static_cast<void*>(moved + i)) T(std::move(data_[i]));
        std::destroy_at(data_ + i);
      }
      std::free(static_cast<void*>(data_));
      data_ = moved;
    }
    capacity_ = static_cast<Size>(count);
    return true;
  }

  T* data_ = nullptr;
  Size size_ = 0;
  Size capacity_ = 0;
};

}  // namespace tare
