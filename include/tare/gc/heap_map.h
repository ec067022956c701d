// tare/gc/heap_map.h: HeapMap and HeapSet, hash tables in collected objects with keys of any type: numbers, atoms,
// strings, pairs. (Where keys are collected objects, and may be weak, take tare/gc/heap_hash_table.h.)
//
//   tare::gc::HeapMap<tare::Atom, tare::gc::Member<Node>> by_name_;
//   if (!by_name_.insert(heap, name, node)) return false;                     // no memory
//   if (const tare::gc::Member<Node>* known = by_name_.find(name)) use(**known);
//   for (auto [key, value] : by_name_) use(*value);
//   void trace(tare::gc::Visitor& visitor) const { visitor.trace(by_name_); }
//
// Hash and Equal are as std::unordered_map's; find(), contains() and erase() take any type that both of them take.
// Hashes are spread by a multiplication, so that numbers may be their own. Keys chosen by strangers need a Hash with a
// secret, as anywhere. Keys hold no collected objects; values may be Members, parts with a trace(), or anything else.
// Keys and values may have destructors, which run when an entry goes or the table dies, and then may not use other
// collected objects.
//
// 4 bytes while it is empty. Otherwise slots of 4 bytes, key and value lie in a collected array, at most 3/4 of them
// taken; up to 2^30 slots, or the room in the cage. References and iterators are good until it grows. An insert that
// finds no memory changes nothing.
//
// Thread-safety: the heap's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
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

namespace heap_map_details {

struct Nothing {};

// Memory of zeros is a free slot.
template <class Key, class Value>
struct Slot {
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kDeleted = 1;
  static constexpr std::uint32_t kFirstHash = 2;

  bool is_taken() const noexcept { return state >= kFirstHash; }
  void destroy() noexcept {
    std::destroy_at(&key);
    std::destroy_at(&value);
  }

  std::uint32_t state;  // or the hash's upper bits
  union {
    Key key;
  };
  union {
    Value value;
  };
};

// The slots lie behind it, and its size is a multiple of their alignment.
template <class Key, class Value, class Group>
class alignas(Slot<Key, Value>) SlotArray final : public GarbageCollected<SlotArray<Key, Value, Group>, Group> {
 public:
  using Slot = heap_map_details::Slot<Key, Value>;
  static_assert(alignof(Slot) <= 8, "keys and values are aligned to 8 bytes at most");
  static_assert(std::is_nothrow_move_constructible_v<Key> && std::is_nothrow_move_constructible_v<Value>);
  static_assert(!Traced<Key>, "keys hold no collected objects");

  explicit SlotArray(std::uint32_t log) noexcept : log_(log) {}

  Slot* begin() const noexcept {
    return reinterpret_cast<Slot*>(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + sizeof(*this));
  }
  Slot* end() const noexcept { return begin() + (std::size_t{1} << log_); }
  std::uint32_t size() const noexcept { return size_; }
  bool is_full() const noexcept { return (std::uint64_t{size_} + deleted_ + 1) * 4 > (std::uint64_t{3} << log_); }

  template <class Equals>
  Slot* find(std::uint32_t hash, const Equals& equals) const noexcept(noexcept(equals(begin()->key))) {
    for (std::size_t i = first(hash);; i = next(i)) {
      Slot& slot = begin()[i];
      if (slot.state == hash && equals(slot.key)) return &slot;
      if (slot.state == Slot::kFree) return nullptr;
    }
  }
  // For a key that isn't there.
  Slot& put(std::uint32_t hash, Key&& key, Value&& value) noexcept {
    std::size_t i = first(hash);
    while (begin()[i].is_taken()) i = next(i);
    Slot& slot = begin()[i];
    if (slot.state == Slot::kDeleted) --deleted_;
    ::new (static_cast<void*>(&slot.key)) Key(std::move(key));
    ::new (static_cast<void*>(&slot.value)) Value(std::move(value));
    slot.state = hash;
    ++size_;
    return slot;
  }
  void erase(Slot& slot) noexcept {
    slot.destroy();
    slot.state = Slot::kDeleted;
    --size_;
    ++deleted_;
  }

  void trace(Visitor& visitor) const {
    if constexpr (Traced<Value>) {
      if (visitor.leave_to_owner()) return;
      for (const Slot& slot : *this) {
        if (slot.is_taken()) visitor.trace(slot.value);
      }
    }
  }
  void trace_part(Visitor& visitor, const void* first_byte, const void* end_byte) const
    requires Traced<Value>
  {
    const ElementsIn<Slot> part(begin(), first_byte, end_byte);
    for (std::size_t i = part.first; i < std::min(part.end, std::size_t{1} << log_); ++i) {
      if (begin()[i].is_taken()) visitor.trace(begin()[i].value);
    }
  }
  // Instead of a destructor, which compilers of C++20's first years don't leave out where there's nothing to do.
  void finalize_collected()
    requires(!std::is_trivially_destructible_v<Key> || !std::is_trivially_destructible_v<Value>)
  {
    for (Slot& slot : *this) {
      if (slot.is_taken()) slot.destroy();
    }
  }

 private:
  std::size_t first(std::uint32_t hash) const noexcept { return hash >> (32 - log_); }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & ((std::size_t{1} << log_) - 1); }

  std::uint32_t size_ = 0;
  std::uint32_t deleted_ = 0;
  std::uint32_t log_;
};

}  // namespace heap_map_details

template <class Key, class Value, class Group = DefaultGroup, class Hash = std::hash<Key>,
          class Equal = std::equal_to<>>
class HeapMap {
  using Array = heap_map_details::SlotArray<Key, Value, Group>;
  using Slot = typename Array::Slot;

 public:
  struct Entry {
    const Key& key;
    Value& value;
  };
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;  // forward, but entries are made on demand
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using reference = Entry;
    using pointer = void;

    Iterator() noexcept = default;
    Entry operator*() const noexcept { return {slot_->key, slot_->value}; }
    Iterator& operator++() noexcept {
      ++slot_;
      skip();
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.slot_ == b.slot_; }

   private:
    friend class HeapMap;
    Iterator(Slot* slot, Slot* end) noexcept : slot_(slot), end_(end) { skip(); }
    void skip() noexcept {
      while (slot_ != end_ && !slot_->is_taken()) ++slot_;
    }
    Slot* slot_ = nullptr;
    Slot* end_ = nullptr;
  };

  HeapMap() noexcept = default;
  HeapMap(const HeapMap&) = delete;
  HeapMap& operator=(const HeapMap&) = delete;

  std::size_t size() const noexcept { return array_ ? array_->size() : 0; }
  bool empty() const noexcept { return size() == 0; }

  // In no order. Entries may be erased meanwhile, not inserted.
  Iterator begin() const noexcept { return array_ ? Iterator(array_->begin(), array_->end()) : Iterator(); }
  Iterator end() const noexcept { return array_ ? Iterator(array_->end(), array_->end()) : Iterator(); }

  // The key's value, or null.
  template <class Sought>
  Value* find(const Sought& sought) const {
    Slot* slot = slot_of(sought);
    return slot == nullptr ? nullptr : &slot->value;
  }
  template <class Sought>
  bool contains(const Sought& sought) const {
    return slot_of(sought) != nullptr;
  }

  // Sets the key's value, new or not. False if there's no memory.
  [[nodiscard]] bool insert(HeapOf<Group>& heap, Key key, Value value) {
    if (Value* known = find(key)) {
      *known = std::move(value);
      return true;
    }
    if ((!array_ || array_->is_full()) && !rehash(heap)) return false;
    array_->put(hash_of(key), std::move(key), std::move(value));
    return true;
  }
  // The key's value, made of nothing where it had none. Null if there's no memory.
  [[nodiscard]] Value* find_or_insert(HeapOf<Group>& heap, Key key) {
    if (Value* known = find(key)) return known;
    if ((!array_ || array_->is_full()) && !rehash(heap)) return nullptr;
    return &array_->put(hash_of(key), std::move(key), Value()).value;
  }
  // True if it was present.
  template <class Sought>
  bool erase(const Sought& sought) {
    Slot* slot = slot_of(sought);
    if (slot == nullptr) return false;
    array_->erase(*slot);
    return true;
  }
  void clear(HeapOf<Group>& heap) noexcept {
    Array* old = array_.get();
    array_ = nullptr;
    free_unreferenced(heap, old);
  }

  void trace(Visitor& visitor) const { visitor.trace(array_); }

 private:
  template <class Sought>
  static std::uint32_t hash_of(const Sought& sought) {
    const std::uint64_t spread = static_cast<std::uint64_t>(Hash()(sought)) * 0x9E3779B97F4A7C15;
    const auto hash = static_cast<std::uint32_t>((spread ^ spread >> 29) * 0xBF58476D1CE4E5B9 >> 32);
    return hash < Slot::kFirstHash ? hash + Slot::kFirstHash : hash;
  }
  template <class Sought>
  Slot* slot_of(const Sought& sought) const {
    if (!array_) return nullptr;
    return array_->find(hash_of(sought), [&](const Key& key) { return Equal()(key, sought); });
  }

  // Into an array that is half as full at most; the same size if deleted slots made it full.
  bool rehash(HeapOf<Group>& heap) {
    constexpr std::uint32_t kMostLog = 30;
    std::uint32_t log = 2;
    while ((std::uint64_t{3} << log) < (std::uint64_t{size()} + 1) * 6) ++log;
    if (log > kMostLog) return false;
    Array* fresh = make<Array>(heap, AdditionalBytes(sizeof(Slot) << log), log);
    if (fresh == nullptr) return false;
    Array* old = array_.get();
    if (old != nullptr) {
      for (Slot& slot : *old) {
        if (!slot.is_taken()) continue;
        fresh->put(slot.state, std::move(slot.key), std::move(slot.value));
        old->erase(slot);
      }
    }
    array_ = fresh;
    free_unreferenced(heap, old);
    return true;
  }

  Member<Array, Group> array_;
};

template <class Key, class Group = DefaultGroup, class Hash = std::hash<Key>, class Equal = std::equal_to<>>
class HeapSet {
  using Map = HeapMap<Key, heap_map_details::Nothing, Group, Hash, Equal>;

 public:
  std::size_t size() const noexcept { return map_.size(); }
  bool empty() const noexcept { return map_.empty(); }
  template <class Sought>
  bool contains(const Sought& sought) const {
    return map_.contains(sought);
  }
  // False if there's no memory.
  [[nodiscard]] bool insert(HeapOf<Group>& heap, Key key) { return map_.insert(heap, std::move(key), {}); }
  template <class Sought>
  bool erase(const Sought& sought) {
    return map_.erase(sought);
  }
  void clear(HeapOf<Group>& heap) noexcept { map_.clear(heap); }
  // each(key), in no order.
  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& entry : map_) each(entry.key);
  }
  void trace(Visitor& visitor) const { visitor.trace(map_); }

 private:
  Map map_;
};

}  // namespace tare::inline TARE_ABI::gc
