// tare/gc/object.h: the base of a collected class: GarbageCollected, and GarbageCollectedMixin for interfaces.
//
//   class Node : public tare::gc::GarbageCollected<Node> {
//    public:
//     void trace(tare::gc::Visitor& visitor) const {
//       visitor.trace(parent_);
//       visitor.trace(first_);
//     }
//    private:
//     tare::gc::Member<Node> parent_, first_;
//   };
//
// The base is empty and comes first; classes derived from Node are collected, too, and their trace() calls Node's.
// trace() names every Member, WeakMember and part that has some; an omitted target dies while it is in use. It neither
// allocates nor changes anything, and must not rely on other objects' contents. It isn't virtual and needn't be: an
// object is traced as the type it was made as.
//
// A destructor that isn't trivial is called when the object is found dead, at some time before its memory is used
// again, in no order: it may not touch other collected objects, which may be gone, nor make new ones. Objects of types
// with trivial destructors die without being read, which is nearly free. Code that must access others goes into
//     void prefinalize();
// which runs at the end of marking, latest made first, while all that is dead is still whole. It can't revive anything:
// a dead object stored into a live one would leave a dangling pointer; heaps that verify end the program for it.
//
// A class that has
//     void finalize_collected();
// has that called in the destructor's place, under the same rules, where only a part of it is to be destroyed, or a
// base without a virtual destructor does it for all that derive from it. And
//     void after_make();
// is called by make() when the object is whole: virtual functions are the class's own by then, it may make others, and
// is traced if that collects. All three are public; a base's or a mixin's are called for derived classes.
//
// A class of large arrays (AdditionalBytes) in a group with a young generation may have, beside trace(),
//     void trace_part(tare::gc::Visitor& visitor, const void* begin, const void* end) const;
// which names the references in any of these bytes, so that storing into one doesn't have all of it traced. It must
// name the same kinds, except weak call-backs.
//
// A mixin is a base that isn't first. Members may point to it, and keep the whole object:
//   struct Listener : tare::gc::GarbageCollectedMixin { virtual void hear() = 0; };
//   class Button : public tare::gc::GarbageCollected<Button>, public Listener { void hear() override; };
// No table of functions is added for that, unlike in Oilpan: the page has the start of an object.
//
// Source of the idea: Oilpan. Thread-safety: objects belong to their heap's thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tare/gc/decoding.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class Visitor;

class GarbageCollectedBase {
 public:
  // By make<T>(heap, ...) only.
  void* operator new(std::size_t) = delete;
  void* operator new[](std::size_t) = delete;
  void operator delete(void*) {}  // virtual destructors want one; nobody calls it
};

// GroupOf: the group of the class's heaps, see tare/gc/decoding.h.
template <class T, class GroupOf = DefaultGroup>
class GarbageCollected : public GarbageCollectedBase {
 public:
  using GcGroup = GroupOf;
  using GcRoot = T;  // the class that comes first in every object
};

// Aligned, even if a mixin contains only an int: the bits of a Member can't express addresses between multiples of 8.
class alignas(8) GarbageCollectedMixin {
 public:
  void* operator new(std::size_t) = delete;
  void* operator new[](std::size_t) = delete;
  void operator delete(void*) {}
};

template <class T>
concept Collected = std::derived_from<std::remove_cv_t<T>, GarbageCollectedBase>;

// Pointers to it may point into an object. T is complete.
template <class T>
concept IsMixin = !Collected<T> && std::is_base_of_v<GarbageCollectedMixin, std::remove_cv_t<T>>;

// There may be several such bases in T.
template <class T>
concept HasMixins = std::is_base_of_v<GarbageCollectedMixin, T>;

template <class T>
concept HasPrefinalizer = requires(T& object) { object.prefinalize(); };
template <class T>
concept HasFinalizeCollected = requires(T& object) { object.finalize_collected(); };
// The library's containers' arrays: moves into the cell, and is gone from its own. Nothing is allocated.
template <class T>
concept MovedByContainer =
    std::is_trivially_destructible_v<T> && requires(T& object, void* cell) { object.move_into(cell); };
template <class T>
concept HasTracePart =
    requires(const T& object, Visitor& visitor, const void* place) { object.trace_part(visitor, place, place); };
template <class T>
concept HasAfterMake = requires(T& object) { object.after_make(); };

}  // namespace tare::inline TARE_ABI::gc
