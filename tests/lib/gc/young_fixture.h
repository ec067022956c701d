// Objects of a group with a young generation, with a place of each kind to store a pointer in, and a heap of them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "groups.h"
#include "tare/gc/heap.h"
#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/gc/tagged_member.h"
#include "tare/gc/trace_std.h"

namespace tare::gc::testing {

using Group = GenerationalGroup;
template <class T>
using Link = Member<T, Group>;
template <class T>
using WeakLink = WeakMember<T, Group>;

struct Side : GarbageCollectedMixin {
  int side_value = 5;
};

struct Leaf : GarbageCollected<Leaf, Group>, Side {
  explicit Leaf(int v = 0) : value(v) {}
  void trace(Visitor& visitor) const {
    ++traced;
    visitor.trace(next);
  }
  int value;
  Link<Leaf> next;
  static inline int traced = 0;
};

// One place of each kind to store a pointer in.
struct Holder : GarbageCollected<Holder, Group> {
  void trace(Visitor& visitor) const {
    ++traced;
    visitor.trace(member);
    visitor.trace(other);
    visitor.trace(wide);
    visitor.trace(tagged);
    visitor.trace(side);
    visitor.trace(maybe);
    visitor.trace(either);
    visitor.trace(vector);
    visitor.trace(deque);
    visitor.trace(map);
    visitor.trace(set);
    visitor.trace(weak);
    visitor.trace(by_weak);
    visitor.trace_ephemeron(key, value);
  }
  Link<Leaf> member, other;
  UncompressedMember<Leaf, Group> wide;
  TaggedMember<Leaf, 1, Group> tagged;
  Link<Side> side;
  std::optional<Link<Leaf>> maybe;
  std::variant<int, Link<Leaf>> either;
  HeapVector<Link<Leaf>, Group> vector;
  HeapDeque<Link<Leaf>, Group> deque;
  HeapHashMap<Link<Leaf>, Link<Leaf>, Group> map;
  HeapHashSet<Link<Leaf>, Group> set;
  WeakLink<Leaf> weak;
  HeapHashMap<WeakLink<Leaf>, Link<Leaf>, Group> by_weak;
  WeakLink<Leaf> key;
  Link<Leaf> value;
  static inline int traced = 0;
};

struct LargeHolder : Holder {
  char bytes[100'000];
};

#ifdef NDEBUG
inline constexpr bool kAlwaysVerifies = false;
#else
inline constexpr bool kAlwaysVerifies = true;
#endif

class Young : public ::testing::Test {
 protected:
  using Heap = HeapOf<Group>;

  Young() {
    HeapOptions options;
    options.collections = Collections::ByHand;
    remake(options);
  }
  void remake(HeapOptions options) {
    options.verifies = true;
    heap_ = Heap();
    CageResult<Heap> made = Heap::create(options);
    if (!made) std::abort();
    heap_ = std::move(made.value());
  }

  template <class T, class... Arguments>
  T* make_one(Arguments&&... arguments) {
    return make<T>(heap_, std::forward<Arguments>(arguments)...);
  }
  Leaf* leaf(int value) { return make_one<Leaf>(value); }
  void collect() { heap_.collect(StackState::HoldsNone); }
  void collect_young() { EXPECT_TRUE(heap_.collect_young(StackState::HoldsNone)); }
  std::size_t live() const { return heap_.use().live_objects; }
  std::size_t remembered() const { return heap_.use().remembered_objects; }
  template <class T>
  T* make_old() {
    old_ = make_one<T>();
    collect_young();
    return static_cast<T*>(old_.get());
  }

  Heap heap_;
  Persistent<Holder> old_;
};

}  // namespace tare::gc::testing
