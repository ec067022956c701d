// tare/gc/heap_hash_table.h: HeapHashMap and HeapHashSet, tables in collected objects whose keys are Members.
//
//   tare::gc::HeapHashMap<tare::gc::WeakMember<Node>, tare::gc::Member<Style>> styles_;
//   if (!styles_.insert(heap, node, style)) return false;             // no memory
//   if (const tare::gc::Member<Style>* known = styles_.find(node)) use(**known);
//
// Keys are hashed and compared as the 4 bytes they are. With WeakMember keys an entry goes when its key dies, and a
// Member value lives no longer than its key, even if it points to it (an ephemeron); a WeakMember value becomes null.
// Map values are Members, parts with a trace() (if keys are strong), or anything that holds no collected objects, in
// any case without a destructor. Null and the sentinel are no keys: they mark free and deleted slots.
//
// 4 bytes while it is empty, and when it isn't: slots lie in a collected array, at most 3/4 of them taken, the old
// array is freed when it grows. Pointers to values and iterators are good until then, or until the heap is compacted
// (Heap::compact()); a collection takes out weak entries, and moves none.
//
// Thread-safety: the heap's thread.
//
// Source of the idea: Blink's HeapHashMap, whose hashing by 32 bits made its collections faster ("Pointer compression
// in Oilpan", 2022).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tare/gc/barrier.h"
#include "tare/gc/explicit.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/make.h"
#include "tare/gc/member.h"
#include "tare/gc/visitor.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

namespace hash_table_details {

template <class Member>
inline constexpr bool kIsWeak = false;
template <class T, class Group>
inline constexpr bool kIsWeak<BasicMember<T, Group, Strength::Weak>> = true;

template <class Member>
inline constexpr bool kIsStrong = false;
template <class T, class Group>
inline constexpr bool kIsStrong<BasicMember<T, Group, Strength::Strong>> = true;

struct Nothing {};

}  // namespace hash_table_details

// One entry, or room for one.
template <class Key, class Value>
struct HashSlot {
  Key key;
  [[no_unique_address]] Value value;
};

template <class Key, class Value, class Group>
class HashArray final : public GarbageCollected<HashArray<Key, Value, Group>, Group> {
 public:
  using Slot = HashSlot<Key, Value>;
  static_assert(std::is_trivially_destructible_v<Value>, "values have no destructor");
  static_assert(alignof(Slot) <= 8);
  static constexpr bool kIsWeak = hash_table_details::kIsWeak<Key>;
  static_assert(!kIsWeak || !Traced<Value> || hash_table_details::kIsStrong<Value> ||
                    hash_table_details::kIsWeak<Value>,
                "of weak keys values are Members, or hold no collected objects");

  explicit HashArray(int log) noexcept : shift_(static_cast<std::uint32_t>(64 - log) & 63) {}

  std::size_t slot_count() const noexcept { return std::size_t{1} << (64 - shift_); }
  int log() const noexcept { return static_cast<int>(64 - shift_); }
  Slot* slots() const noexcept {
    return reinterpret_cast<Slot*>(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + sizeof(*this));
  }

  // The key's slot, or null.
  Slot* find(std::uint32_t bits) const noexcept {
    for (std::size_t i = first(bits);; i = next(i)) {
      Slot& slot = slots()[i];
      if (slot.key.bits() == bits) return &slot;
      if (slot.key.bits() == 0) return nullptr;
    }
  }
  // Where a key goes that isn't there.
  Slot& free_slot(std::uint32_t bits) noexcept {
    std::size_t i = first(bits);
    while (slots()[i].key.is_object()) i = next(i);
    Slot& slot = slots()[i];
    if (slot.key.is_sentinel()) --deleted_;
    ++size_;
    return slot;
  }
  // Copies bytes: a barrier would make keys that are weak strong. The caller has the array traced afterwards.
  void move_from(const Slot& from) noexcept {
    Slot& to = free_slot(from.key.bits());
    std::memcpy(static_cast<void*>(&to.key), static_cast<const void*>(&from.key), sizeof(Key));
    take_value(from, to);
  }
  void erase(Slot& slot) noexcept {
    slot.key = kSentinelPtr;
    slot.value = Value();
    --size_;
    if (deleted_ != kMostDeleted) ++deleted_;
  }
  // Slots keep their places, as keys keep their bits. Bytes, as in move_from().
  void move_into(void* cell) noexcept {
    auto* moved = ::new (cell) HashArray(log());
    std::memset(static_cast<void*>(moved->slots()), 0, slot_count() * sizeof(Slot));
    for (std::size_t i = 0; i < slot_count(); ++i) {
      const Slot& from = slots()[i];
      Slot& to = moved->slots()[i];
      std::memcpy(static_cast<void*>(&to.key), static_cast<const void*>(&from.key), sizeof(Key));
      if (from.key.is_object()) take_value(from, to);
    }
    moved->size_ = size_;
    moved->deleted_ = deleted_;
  }
  std::uint32_t size() const noexcept { return size_; }
  // Also when there are too many deleted slots to count: a rehash drops them.
  bool is_full() const noexcept {
    return (std::size_t{size_} + deleted_ + 1) * 4 > slot_count() * 3 || deleted_ == kMostDeleted;
  }

  void trace(Visitor& visitor) const {
    if (visitor.leave_to_owner()) return;
    for (std::size_t i = 0; i < slot_count(); ++i) trace_slot(visitor, slots()[i]);
    if constexpr (kIsWeak) visitor.add_weak_callback(drop_dead, this);
  }
  void trace_part(Visitor& visitor, const void* first_byte, const void* end_byte) const
    requires(!kIsWeak)
  {
    const ElementsIn<Slot> part(slots(), first_byte, end_byte);
    for (std::size_t i = part.first; i < std::min(part.end, slot_count()); ++i) trace_slot(visitor, slots()[i]);
  }

 private:
  static void trace_slot(Visitor& visitor, const Slot& slot) {
    if (!slot.key.is_object()) return;
    if constexpr (!kIsWeak) {
      visitor.trace(slot.key);
      if constexpr (Traced<Value>) visitor.trace(slot.value);
    } else if constexpr (hash_table_details::kIsStrong<Value>) {
      visitor.trace_while_alive(slot.key, slot.value);
    } else if constexpr (Traced<Value>) {
      visitor.trace(slot.value);
    }
  }
  static void take_value(const Slot& from, Slot& to) noexcept {
    if constexpr (kIsMember<Value>) {
      std::memcpy(static_cast<void*>(&to.value), static_cast<const void*>(&from.value), sizeof(Value));
    } else {
      to.value = from.value;
    }
  }

  // Fibonacci's multiplication: its upper bits are the slot.
  std::size_t first(std::uint32_t bits) const noexcept {
    return static_cast<std::size_t>((bits * std::uint64_t{0x9E3779B97F4A7C15}) >> shift_);
  }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slot_count() - 1); }

  static void drop_dead(const Liveness& liveness, const void* object) {
    auto* self = static_cast<HashArray*>(const_cast<void*>(object));
    for (std::size_t i = 0; i < self->slot_count(); ++i) {
      Slot& slot = self->slots()[i];
      if (slot.key.is_object() && !liveness.is_alive(slot.key)) self->erase(slot);
    }
  }

  std::uint32_t size_ = 0;
  static constexpr std::uint32_t kMostDeleted = (1u << 26) - 1;
  std::uint32_t deleted_ : 26 = 0;
  std::uint32_t shift_ : 6;
};

template <class Key, class Value, class Group = DefaultGroup>
class HeapHashMap {
  using Array = HashArray<Key, Value, Group>;

 public:
  using Slot = typename Array::Slot;
  using KeyPointer = typename Key::element_type*;

  HeapHashMap() noexcept = default;
  HeapHashMap(const HeapHashMap&) = delete;
  HeapHashMap& operator=(const HeapHashMap&) = delete;

  std::size_t size() const noexcept { return array_ ? array_->size() : 0; }
  bool empty() const noexcept { return size() == 0; }

  // The key's value, or null.
  Value* find(KeyPointer key) const noexcept {
    if (!array_ || key == nullptr) return nullptr;
    Slot* slot = array_->find(Key::bits_of(key));
    return slot == nullptr ? nullptr : &slot->value;
  }
  bool contains(KeyPointer key) const noexcept { return find(key) != nullptr; }

  // Sets the key's value, new or not. False if there's no memory.
  [[nodiscard]] bool insert(HeapOf<Group>& heap, KeyPointer key, Value value) {
    assert(key != nullptr);
    if (Value* known = find(key)) {
      *known = value;
      return true;
    }
    if ((!array_ || array_->is_full()) && !rehash(heap)) return false;
    Slot& slot = array_->free_slot(Key::bits_of(key));
    slot.value = value;
    slot.key = key;
    return true;
  }
  // True if it was present.
  bool erase(KeyPointer key) noexcept {
    if (!array_ || key == nullptr) return false;
    Slot* slot = array_->find(Key::bits_of(key));
    if (slot == nullptr) return false;
    array_->erase(*slot);
    return true;
  }
  void clear(HeapOf<Group>& heap) noexcept {
    Array* old = array_.get();
    array_ = nullptr;
    free_unreferenced(heap, old);
  }

  // Calls each(key, value) in an unspecified order. `each` must not insert or erase.
  template <class Each>
  void for_each(Each&& each) const {
    if (!array_) return;
    for (std::size_t i = 0; i < array_->slot_count(); ++i) {
      Slot& slot = array_->slots()[i];
      if (slot.key.is_object()) each(slot.key.operator->(), slot.value);
    }
  }

  void trace(Visitor& visitor) const { visitor.trace_array(array_); }

 private:
  // Into an array that is half as full at most; the same size if deleted slots made it full.
  bool rehash(HeapOf<Group>& heap) {
    constexpr int kLeastLog = 2;
    constexpr int kMostLog = 31;  // more entries than a cage has room for
    int log = kLeastLog;
    while ((std::size_t{1} << log) * 3 < (size() + 1) * 4 * 3 / 2) ++log;
    if (log > kMostLog) return false;
    Array* fresh = make<Array>(heap, AdditionalBytes(sizeof(Slot) << log), log);
    if (fresh == nullptr) return false;
    // Making it may have collected and removed entries: the present ones are moved.
    if (Array* old = array_.get(); old != nullptr) {
      for (std::size_t i = 0; i < old->slot_count(); ++i) {
        const Slot& slot = old->slots()[i];
        if (slot.key.is_object()) fresh->move_from(slot);
      }
      trace_again(fresh);
      array_ = fresh;
      free_unreferenced(heap, old);
    } else {
      array_ = fresh;
    }
    return true;
  }

  Member<Array, Group> array_;
};

template <class Key, class Group = DefaultGroup>
class HeapHashSet {
  using Map = HeapHashMap<Key, hash_table_details::Nothing, Group>;

 public:
  using KeyPointer = typename Map::KeyPointer;

  std::size_t size() const noexcept { return map_.size(); }
  bool empty() const noexcept { return map_.empty(); }
  bool contains(KeyPointer key) const noexcept { return map_.contains(key); }
  [[nodiscard]] bool insert(HeapOf<Group>& heap, KeyPointer key) { return map_.insert(heap, key, {}); }
  bool erase(KeyPointer key) noexcept { return map_.erase(key); }
  void clear(HeapOf<Group>& heap) noexcept { map_.clear(heap); }
  template <class Each>
  void for_each(Each&& each) const {
    map_.for_each([&](auto* key, const auto&) { each(key); });
  }
  void trace(Visitor& visitor) const { visitor.trace(map_); }

 private:
  Map map_;
};

}  // namespace tare::inline TARE_ABI::gc
