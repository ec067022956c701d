// tare/buffer.h: a growable array that uses the size classes of the running allocator.
//
//   tare::Buffer<Edge> edges;
//   if (!edges.push_back(edge)) return out_of_memory();   // amortized constant, as std::vector's
//
//   tare::Buffer<int> children;
//   if (!children.reserve_exactly(count)) return out_of_memory();  // the count is known: one malloc, no growth
//   if (!children.append_all({1, 2, 3}) || !children.insert(children.begin(), 0)) return out_of_memory();
//
//   tare::Buffer<char> body;
//   if (!body.append_text("<body>")) return out_of_memory();
//   auto [data, size, capacity] = std::move(body).release();  // malloc's block, as a bare pointer
//   tare::Bytes shared = tare::Bytes::adopt_malloced(data, size);
//
// 16 bytes, where std::vector has 24: counts are 32-bit, up to 4,294,967,295 elements (`Size` = std::size_t for more).
// An empty Buffer holds no memory, the first element brings its size class. How much it grows by is `Growth`'s matter:
// see tare/growth.h. Elements that may be moved as bytes (tare/relocatable.h) grow by realloc, which needn't copy
// where the block can be extended, and moves pages instead of bytes where it is large; others are moved one by one, and
// so are those aligned further than malloc does, which are allocated by aligned_alloc.
//
// The names are std::vector's where the meaning is. The differences: calls that need memory have a result to check,
// copying is copy_from(), and T may be incomplete until the first call.
//
// Nothing throws, and nothing aborts. Calls that need memory return false (or null) if there is none, or if a size
// would overflow, and then have changed nothing. Elements' moves mustn't throw; elements may be move-only. References
// and iterators end when capacity changes. Indexes aren't checked, save by assert.
//
// Different threads may read one Buffer at once; writing needs it alone.
#pragma once

#include <algorithm>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tare/good_size.h"
#include "tare/growth.h"
#include "tare/relocatable.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

template <typename T, typename Growth = GrowByKind, typename Size = std::uint32_t>
class Buffer {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<T*>;
  using const_reverse_iterator = std::reverse_iterator<const T*>;
  static constexpr std::size_t kMostElements =
      std::min<std::size_t>(std::numeric_limits<Size>::max(), kLargestRequest / sizeof(T));

  constexpr Buffer() noexcept = default;
  Buffer(const Buffer&) = delete;  // it could fail: use copy_from
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
    static_assert(is_trivially_relocatable<T> || std::is_nothrow_move_constructible_v<T>);
    static_assert(std::is_nothrow_destructible_v<T>);
    std::destroy(begin(), end());
    std::free(static_cast<void*>(data_));
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  friend void swap(Buffer& a, Buffer& b) noexcept { a.swap(b); }

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
  const T* cbegin() const noexcept { return begin(); }
  const T* cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
  static constexpr std::size_t max_size() noexcept { return kMostElements; }
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
  T& front() noexcept { return (*this)[0]; }
  const T& front() const noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size_ - 1]; }
  const T& back() const noexcept { return (*this)[size_ - 1]; }

  // Element by element.
  friend bool operator==(const Buffer& a, const Buffer& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const Buffer& a, const Buffer& b)
    requires std::three_way_comparable<T>
  {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

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
  [[nodiscard]] bool push_back(const T& value) { return emplace_back(value) != nullptr; }
  [[nodiscard]] bool push_back(T&& value) { return emplace_back(std::move(value)) != nullptr; }
  [[nodiscard]] bool append(const T& value) { return push_back(value); }
  [[nodiscard]] bool append(T&& value) { return push_back(std::move(value)); }

  // Makes an element before `position`, of `arguments` that may refer to elements of this Buffer. Linear in the number
  // of elements behind. Null without memory.
  template <typename... Arguments>
  [[nodiscard]] T* emplace(const T* position, Arguments&&... arguments) {
    const std::size_t index = index_of(position);
    T made(std::forward<Arguments>(arguments)...);  // first: an argument may lie in the part that moves
    if (!reserve(1)) return nullptr;
    T* const at = data_ + index;
    if constexpr (is_trivially_relocatable<T>) {
      move_bytes(at + 1, at, size_ - index);
      new (static_cast<void*>(at)) T(std::move(made));
    } else if (index == size_) {
      new (static_cast<void*>(at)) T(std::move(made));
    } else {
      new (static_cast<void*>(end())) T(std::move(back()));
      std::move_backward(at, end() - 1, end());
      *at = std::move(made);
    }
    ++size_;
    return at;
  }
  [[nodiscard]] T* insert(const T* position, const T& value) { return emplace(position, value); }
  [[nodiscard]] T* insert(const T* position, T&& value) { return emplace(position, std::move(value)); }
  // Copies all of them before `position`; they may be elements of this Buffer. Where the first of them lies then. Null
  // without memory, or for no elements in a Buffer that has none.
  [[nodiscard]] T* insert(const T* position, std::span<const T> values) {
    const std::size_t index = index_of(position);
    const std::size_t before = size_;
    if (!append_all(values)) return nullptr;
    std::rotate(data_ + index, data_ + before, end());
    return data_ + index;
  }
  [[nodiscard]] T* insert(const T* position, std::initializer_list<T> values) {
    return insert(position, std::span<const T>(values.begin(), values.size()));
  }

  // Replaces the elements by copies of the other's. False, with nothing changed, without memory.
  [[nodiscard]] bool copy_from(const Buffer& other) { return assign(other.span()); }
  [[nodiscard]] bool assign(std::span<const T> values) {
    Buffer copy;
    if (!copy.reserve_exactly(values.size()) || !copy.append_all(values)) return false;
    swap(copy);
    return true;
  }

  // Makes elements of a range's at the end. Where memory ends the Buffer is as it was, though a range that can be read
  // only once has been read. The range mustn't be a view of this Buffer: for its elements there is append_all().
  template <std::ranges::input_range Range>
    requires std::constructible_from<T, std::ranges::range_reference_t<Range>>
  [[nodiscard]] bool append_range(Range&& range) {
    if constexpr (std::ranges::sized_range<Range>) {
      if (!reserve(static_cast<std::size_t>(std::ranges::size(range)))) return false;
    }
    const std::size_t before = size_;
    for (auto&& element : range) {
      if (emplace_back(std::forward<decltype(element)>(element)) != nullptr) continue;
      erase(begin() + before, end());
      return false;
    }
    return true;
  }

  // Copies all of them to the end. They may be elements of this Buffer.
  [[nodiscard]] bool append_all(std::initializer_list<T> values) {
    return append_all(std::span<const T>(values.begin(), values.size()));
  }
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
    return more <= kMostElements - size_ && grow_to(size_ + more);
  }

  // Makes room for `count` elements in all, and requests no more than that: a known size needs no growth. The class's
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
  // New elements are copies of `value`.
  [[nodiscard]] bool resize(std::size_t count, const T& value) {
    if (count > size_) {
      T copy(value);  // first: it may lie in the block that goes
      if (!reserve(count - size_)) return false;
      std::uninitialized_fill(end(), data_ + count, copy);
      size_ = static_cast<Size>(count);
    } else {
      erase(begin() + count, end());
    }
    return true;
  }

  // ---- shrinking

  // Takes elements out, and moves those behind. Returns where the first of these lies now. Keeps the memory.
  T* erase(const T* position) noexcept { return erase(position, position + 1); }
  T* erase(const T* first, const T* last) noexcept {
    T* const at = data_ + index_of(first);
    const auto count = static_cast<std::size_t>(last - first);
    if (count == 0) return at;
    if constexpr (is_trivially_relocatable<T>) {
      std::destroy(at, at + count);
      move_bytes(at, at + count, static_cast<std::size_t>(end() - at) - count);
    } else {
      std::destroy(std::move(at + count, end(), at), end());
    }
    size_ = static_cast<Size>(size_ - count);
    return at;
  }
  // Takes out the elements that `predicate` is true of, and returns how many. Linear.
  template <typename Predicate>
  friend std::size_t erase_if(Buffer& buffer, Predicate predicate) {
    const std::size_t before = buffer.size();
    buffer.erase(std::remove_if(buffer.begin(), buffer.end(), predicate), buffer.end());
    return before - buffer.size();
  }

  void pop_back() noexcept {
    assert(size_ > 0);
    std::destroy_at(data_ + --size_);
  }

  // Destroys the elements and keeps the memory.
  void clear() noexcept {
    std::destroy(begin(), end());
    size_ = 0;
  }

  // Shrinks the block if a smaller class is enough, and calls nothing otherwise: a Buffer of exactly known size costs
  // no realloc at its end ("a faster GVariantBuilder"). False if malloc refuses, which changes nothing.
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

  // For a Reporter: the bytes of the block, without memory owned by elements. `size_of` is a tare::SizeOf or any
  // function of a block's address.
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

  std::size_t index_of(const T* position) const noexcept {
    assert(position >= data_ && position <= data_ + size_);
    return static_cast<std::size_t>(position - data_);
  }

  static void move_bytes(T* to, const T* from, std::size_t count) noexcept {
    if (count != 0) std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
  }

  // Not inlined: between two growths there are many elements.
  [[gnu::noinline]] bool grow_to(std::size_t needed) noexcept {
    using ByKind = std::conditional_t<is_trivially_relocatable<T>, GrowByClass, GrowByDoubling>;
    using Policy = std::conditional_t<std::is_same_v<Growth, GrowByKind>, ByKind, Growth>;
    const auto good = [](std::size_t bytes) { return good_size(bytes); };
    const std::size_t bytes = Policy::next_bytes(capacity_ * sizeof(T), needed * sizeof(T), good);
    const std::size_t count = std::min(bytes / sizeof(T), kMostElements);
    // if the good size fails, the needed one may succeed
    return set_capacity(count) || (count > needed && set_capacity(needed));
  }

  static T* allocate(std::size_t count) noexcept {
    if constexpr (alignof(T) > alignof(std::max_align_t)) {
      return static_cast<T*>(std::aligned_alloc(alignof(T), count * sizeof(T)));  // a multiple of the alignment
    } else {
      return static_cast<T*>(std::malloc(count * sizeof(T)));
    }
  }

  bool set_capacity(std::size_t count) noexcept {
    if constexpr (is_trivially_relocatable<T> && alignof(T) <= alignof(std::max_align_t)) {
      void* block = std::realloc(static_cast<void*>(data_), count * sizeof(T));
      if (block == nullptr) return false;
      data_ = static_cast<T*>(block);
    } else {
      T* const moved = allocate(count);
      if (moved == nullptr) return false;
      if constexpr (is_trivially_relocatable<T>) {
        move_bytes(moved, data_, size_);
      } else {
        T* to = moved;
        for (T *from = data_, *last = data_ + size_; from != last; ++from, ++to) {
          new (static_cast<void*>(to)) T(std::move(*from));
          std::destroy_at(from);
        }
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

template <typename T, typename Growth, typename Size>
inline constexpr bool is_trivially_relocatable<Buffer<T, Growth, Size>> = true;

}  // namespace tare::inline TARE_ABI
