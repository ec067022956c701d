// tare/gc/heap_deque.h: HeapDeque, a queue with two ends in collected objects.
//
//   tare::gc::HeapDeque<tare::gc::Member<Task>> tasks_;
//   if (!tasks_.push_back(heap, task)) return false;   // no memory
//   while (!tasks_.empty()) run(tasks_.take_front());
//
// A ring in one collected array that doubles when it is full. 4 bytes, with or without elements. Elements are Members,
// values with a trace() of their own, or anything that holds no collected objects; no destructors, for which there's
// HeapVector. References are good until an element is added or the heap is compacted.
//
// Thread-safety: the heap's thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tare/gc/explicit.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/make.h"
#include "tare/gc/member.h"
#include "tare/gc/visitor.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Zeros are good elements: an array begins with them.
template <class T, class Group>
class RingArray final : public GarbageCollected<RingArray<T, Group>, Group> {
 public:
  static_assert(std::is_trivially_destructible_v<T> && (std::is_trivially_copyable_v<T> || Traced<T>));
  static_assert(alignof(T) <= 8, "elements are aligned to 8 bytes at most");

  explicit RingArray(int log) noexcept : mask_((std::uint32_t{1} << log) - 1) {}

  std::uint32_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return std::size_t{mask_} + 1; }
  T& at(std::size_t i) const noexcept { return elements()[(first_ + i) & mask_]; }

  void push_back(const T& value) noexcept { ::new (static_cast<void*>(&at(size_++))) T(value); }
  void push_front(const T& value) noexcept {
    first_ = (first_ - 1) & mask_;
    ++size_;
    ::new (static_cast<void*>(&at(0))) T(value);
  }
  void drop_front() noexcept {
    first_ = (first_ + 1) & mask_;
    --size_;
  }
  void drop_back() noexcept { --size_; }

  void trace(Visitor& visitor) const {
    if constexpr (Traced<T>) {
      if (visitor.leave_to_owner()) return;
      for (std::size_t i = 0; i < size_; ++i) visitor.trace(at(i));
    }
  }
  void trace_part(Visitor& visitor, const void* first_byte, const void* end_byte) const
    requires Traced<T>
  {
    const ElementsIn<T> part(elements(), first_byte, end_byte);
    for (std::size_t i = part.first; i < std::min(part.end, capacity()); ++i) {
      if (((i - first_) & mask_) < size_) visitor.trace(elements()[i]);
    }
  }
  void move_into(void* cell) noexcept {
    auto* moved = ::new (cell) RingArray(std::countr_zero(capacity()));
    moved->first_ = first_;
    for (std::size_t i = 0; i < size_; ++i) moved->push_back(at(i));
  }

 private:
  T* elements() const noexcept {
    return reinterpret_cast<T*>(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + sizeof(*this));
  }

  std::uint32_t mask_;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t unused_ = 0;  // elements begin at a multiple of 8
};

template <class T, class Group = DefaultGroup>
class HeapDeque {
  using Array = RingArray<T, Group>;

 public:
  HeapDeque() noexcept = default;
  HeapDeque(const HeapDeque&) = delete;
  HeapDeque& operator=(const HeapDeque&) = delete;

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return array_ ? array_->size() : 0; }
  T& operator[](std::size_t i) noexcept {
    assert(i < size());
    return array_->at(i);
  }
  const T& operator[](std::size_t i) const noexcept {
    assert(i < size());
    return array_->at(i);
  }
  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size() - 1]; }

  // False if there's no memory; the deque is as before then.
  [[nodiscard]] bool push_back(HeapOf<Group>& heap, T value) {
    if (!has_room(heap)) return false;
    array_->push_back(value);
    return true;
  }
  [[nodiscard]] bool push_front(HeapOf<Group>& heap, T value) {
    if (!has_room(heap)) return false;
    array_->push_front(value);
    return true;
  }
  T take_front() noexcept {
    const T value = front();
    array_->drop_front();
    return value;
  }
  T take_back() noexcept {
    const T value = back();
    array_->drop_back();
    return value;
  }
  // Frees the array as well.
  void clear(HeapOf<Group>& heap) noexcept {
    Array* old = array_.get();
    array_ = nullptr;
    free_unreferenced(heap, old);
  }

  void trace(Visitor& visitor) const { visitor.trace_array(array_); }

 private:
  bool has_room(HeapOf<Group>& heap) {
    constexpr int kLeastLog = 2;
    constexpr int kMostLog = 31;
    Array* old = array_.get();
    if (old != nullptr && old->size() < old->capacity()) return true;
    const int log = old == nullptr ? kLeastLog : static_cast<int>(std::countr_zero(old->capacity())) + 1;
    if (log > kMostLog) return false;
    Array* fresh = make<Array>(heap, AdditionalBytes(sizeof(T) << log), log);
    if (fresh == nullptr) return false;
    for (std::size_t i = 0; i < size(); ++i) fresh->push_back(old->at(i));
    array_ = fresh;
    free_unreferenced(heap, old);
    return true;
  }

  Member<Array, Group> array_;
};

}  // namespace tare::inline TARE_ABI::gc
