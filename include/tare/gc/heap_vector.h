// tare/gc/heap_vector.h: HeapVector, a growing array in collected objects, and RootedVector, the same outside of them.
//
//   class Element : public tare::gc::GarbageCollected<Element> {
//    public:
//     bool add(tare::gc::Heap& heap, Element* child) { return children_.push_back(heap, child); }
//     void trace(tare::gc::Visitor& visitor) const { visitor.trace(children_); }
//    private:
//     tare::gc::HeapVector<tare::gc::Member<Element>> children_;     // 4 bytes while it is empty, and when it isn't
//   };
//
// Elements are Members, values with a trace() of their own, or anything that holds no collected objects. They lie in a
// collected array of the vector's heap, which has as many elements as its cell has room for, and doubles when it is
// full; the old array is freed at once, or by the collection if one is marking. As in std::vector, references and
// iterators are good until then, or until the heap is compacted (Heap::compact()).
//
// A RootedVector keeps its elements from places that no trace() reaches, like a Persistent: for globals, members of
// classes that aren't collected, and functions' locals whose elements must not depend on the scan of the stack.
//
// Functions that may need memory get the heap and return false where there is none; the vector is as before then.
// Thread-safety: the heap's thread.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tare/gc/barrier.h"
#include "tare/gc/explicit.h"
#include "tare/gc/make.h"
#include "tare/gc/member.h"
#include "tare/gc/persistent.h"
#include "tare/gc/visitor.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Types that a visitor must trace.
template <class T>
concept Traced = requires(Visitor& visitor, const T& value) { visitor.trace(value); };

// Which elements of an array have any of some bytes; `end` may lie behind the array's.
template <class T>
struct ElementsIn {
  ElementsIn(const T* elements, const void* first_byte, const void* end_byte) noexcept {
    const auto offset_of = [&](const void* place) {
      const auto begin = reinterpret_cast<std::uintptr_t>(elements);
      return std::max(begin, reinterpret_cast<std::uintptr_t>(place)) - begin;
    };
    first = offset_of(first_byte) / sizeof(T);
    end = (offset_of(end_byte) + sizeof(T) - 1) / sizeof(T);
  }
  std::size_t first;
  std::size_t end;
};

template <class T, class Group>
class VectorArray final : public GarbageCollected<VectorArray<T, Group>, Group> {
 public:
  static_assert(alignof(T) <= 8, "elements are aligned to 8 bytes at most");

  explicit VectorArray(std::uint32_t capacity) noexcept : capacity_(capacity) {}
  ~VectorArray()
    requires std::is_trivially_destructible_v<T>
  = default;
  ~VectorArray() { std::destroy_n(begin(), size_); }

  T* begin() const noexcept {
    return reinterpret_cast<T*>(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + sizeof(*this));
  }
  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t capacity() const noexcept { return capacity_; }
  void set_size(std::size_t size) noexcept { size_ = static_cast<std::uint32_t>(size); }
  void set_capacity(std::size_t capacity) noexcept { capacity_ = static_cast<std::uint32_t>(capacity); }

  void trace(Visitor& visitor) const {
    if constexpr (Traced<T>) {
      if (visitor.leave_to_owner()) return;
      for (std::size_t i = 0; i < size_; ++i) visitor.trace(begin()[i]);
    }
  }
  void trace_part(Visitor& visitor, const void* first_byte, const void* end_byte) const
    requires Traced<T>
  {
    const ElementsIn<T> part(this->begin(), first_byte, end_byte);
    for (std::size_t i = part.first; i < std::min<std::size_t>(part.end, size_); ++i) visitor.trace(begin()[i]);
  }
  void move_into(void* cell) noexcept {
    auto* moved = ::new (cell) VectorArray(capacity_);
    if constexpr (kIsMember<T>) {
      std::memcpy(static_cast<void*>(moved->begin()), static_cast<const void*>(begin()), size_ * sizeof(T));
    } else {
      std::uninitialized_move_n(begin(), size_, moved->begin());
    }
    moved->size_ = size_;
  }

 private:
  std::uint32_t size_ = 0;  // elements that have begun their life
  std::uint32_t capacity_;
};

// HeapVector and RootedVector, which differ in the pointer to the array.
template <class T, class Group, class Pointer>
class VectorBy {
  using Array = VectorArray<T, Group>;

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  VectorBy() noexcept = default;
  VectorBy(const VectorBy&) = delete;
  VectorBy& operator=(const VectorBy&) = delete;
  VectorBy(VectorBy&& other) noexcept : array_(std::exchange(other.array_, Pointer())) {}
  VectorBy& operator=(VectorBy&& other) noexcept {
    array_ = std::exchange(other.array_, Pointer());
    return *this;
  }

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return array_ ? array_->size() : 0; }
  std::size_t capacity() const noexcept { return array_ ? array_->capacity() : 0; }
  T* data() noexcept { return array_ ? array_->begin() : nullptr; }
  const T* data() const noexcept { return array_ ? array_->begin() : nullptr; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size(); }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size(); }
  T& operator[](std::size_t i) noexcept {
    assert(i < size());
    return array_->begin()[i];
  }
  const T& operator[](std::size_t i) const noexcept {
    assert(i < size());
    return array_->begin()[i];
  }
  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size() - 1]; }

  [[nodiscard]] bool push_back(HeapOf<Group>& heap, T value) {
    const std::size_t size = this->size();
    if (size == capacity() && !reserve(heap, size + 1)) return false;
    ::new (static_cast<void*>(array_->begin() + size)) T(std::move(value));
    array_->set_size(size + 1);
    return true;
  }
  [[nodiscard]] bool insert(HeapOf<Group>& heap, std::size_t at, T value) {
    assert(at <= size());
    if (!push_back(heap, std::move(value))) return false;
    std::rotate(begin() + at, end() - 1, end());
    return true;
  }
  // New elements are value-initialised.
  [[nodiscard]] bool resize(HeapOf<Group>& heap, std::size_t size) {
    if (size > capacity() && !reserve(heap, size)) return false;
    if (size < this->size()) truncate(size);
    while (this->size() < size) {
      ::new (static_cast<void*>(end())) T();
      array_->set_size(array_->size() + 1);
    }
    return true;
  }
  // Room for `wanted` elements at least.
  [[nodiscard]] bool reserve(HeapOf<Group>& heap, std::size_t wanted) {
    if (wanted <= capacity()) return true;
    if (wanted > kMost) return false;
    return move_to(heap, std::min(kMost, std::max({wanted, capacity() * 2, kLeast})));
  }
  // Frees memory beyond size() by moving to a smaller array; stays if there's none so small. False if there's no memory
  // to move to.
  bool shrink_to_fit(HeapOf<Group>& heap) {
    if (empty()) {
      clear(heap);
      return true;
    }
    return cell_of(size()) == cell_of(capacity()) || move_to(heap, size());
  }

  void pop_back() noexcept { truncate(size() - 1); }
  void erase(std::size_t at) noexcept {
    assert(at < size());
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  // All from `size` on.
  void truncate(std::size_t size) noexcept {
    if (!array_) return;
    std::destroy(array_->begin() + size, array_->begin() + array_->size());
    // Stale pointers in the unused part would be harmless, but a vector that shrinks and grows again must find zeros.
    array_->set_size(size);
  }
  // Frees the array as well.
  void clear(HeapOf<Group>& heap) noexcept {
    Array* old = array_.get();
    array_ = Pointer();
    free_unreferenced(heap, old);
  }
  void swap(VectorBy& other) noexcept { std::swap(array_, other.array_); }

  void trace(Visitor& visitor) const
    requires(!std::is_base_of_v<RootLink, Pointer>)
  {
    visitor.trace_array(array_);
  }

 private:
  static constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kLeast = sizeof(T) <= 4 ? 3 : 1;  // 8 bytes and 12 fill a cell of 24

  // Distinguishes arrays of one size from others.
  static constexpr std::size_t cell_of(std::size_t capacity) noexcept {
    const std::size_t bytes = cell::bytes_for(sizeof(Array) + capacity * sizeof(T), alignof(Array));
    return bytes <= cell::kMost ? cell::class_of(bytes) : bytes;
  }

  bool move_to(HeapOf<Group>& heap, std::size_t capacity) {
    Array* fresh = make<Array>(heap, AdditionalBytes(capacity * sizeof(T)), static_cast<std::uint32_t>(capacity));
    if (fresh == nullptr) return false;
    fresh->set_capacity(std::min(kMost, room_behind(heap, fresh) / sizeof(T)));
    if (Array* old = array_.get(); old != nullptr) {
      if constexpr (kIsMember<T>) {
        std::memcpy(static_cast<void*>(fresh->begin()), static_cast<const void*>(old->begin()),
                    old->size() * sizeof(T));
      } else {
        std::uninitialized_move_n(old->begin(), old->size(), fresh->begin());
      }
      fresh->set_size(old->size());
      if constexpr (kIsMember<T>) trace_again(fresh);
      array_ = fresh;
      free_unreferenced(heap, old);  // and destroys the moved-from elements
    } else {
      array_ = fresh;
    }
    return true;
  }

  Pointer array_;
};

template <class T, class Group = DefaultGroup>
using HeapVector = VectorBy<T, Group, Member<VectorArray<T, Group>, Group>>;

// Not to be a member of a collected object: it would be a root there.
template <class T, class Group = DefaultGroup>
using RootedVector = VectorBy<T, Group, Persistent<VectorArray<T, Group>>>;

}  // namespace tare::inline TARE_ABI::gc
