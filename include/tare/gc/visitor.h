// tare/gc/visitor.h: Visitor, to which an object's trace() names what it points to; and Liveness, which tells weak
// call-backs who has died.
//
// Nothing in it is virtual: naming a Member stores 4 bytes into the collector's list. The verifier and the snapshot of
// the heap read the same list.
//
// Thread-safety: a visitor belongs to who calls trace() with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tare/export.h"
#include "tare/gc/member.h"
#include "tare/gc/object.h"

namespace tare::gc {

class Marker;

// Whether objects survive the collection that is under way.
class TARE_API Liveness {
 public:
  // True for null.
  template <class T>
  bool is_alive(const T* object) const noexcept {
    return object == nullptr || is_marked(object);
  }
  // True for null and for the sentinel.
  template <class T, class Group, Strength kStrength>
  bool is_alive(const BasicMember<T, Group, kStrength>& member) const noexcept {
    return !member.is_object() || is_marked(member.operator->());
  }

 private:
  friend class Marker;
  explicit Liveness(const Marker& marker) noexcept : marker_(marker) {}
  bool is_marked(const void* object) const noexcept;  // also of pointers into an object

  const Marker& marker_;
};

// What a weak call-back gets: the object that registered it, which is alive. It may clear what it likes of its own, but
// not allocate.
using WeakCallback = void (*)(const Liveness& liveness, const void* object);

// How to trace a class that has no trace() of its own, being others': specialise it with a
// `static void trace(Visitor&, const T&)`. tare/gc/trace_std.h does it for some of the standard library's.
template <class T>
struct TraceOf;

class TARE_API Visitor {
 public:
  template <class T, class Group>
  void trace(const BasicMember<T, Group, Strength::Strong>& member) {
    if constexpr (IsMixin<T>) {
      if (member.is_object()) push_interior(member.operator->());
    } else {
      push(Group::Decoding::granule(member.bits()), member.is_object());
    }
  }
  template <class T, class Group>
  void trace(const BasicMember<T, Group, Strength::Weak>& member) {
    if (member.is_object()) add_weak(&member, member.operator->());
  }
  template <class T, class Group>
  void trace(const BasicMember<T, Group, Strength::Untraced>&) = delete;  // nobody is to trace it: leave it out
  template <class T, class Group>
  void trace(const UncompressedMember<T, Group>& member) {
    if (member) push_interior(member.get());
  }

  // A weak member that this time keeps its object.
  template <class T, class Group>
  void trace_strongly(const BasicMember<T, Group, Strength::Weak>& member) {
    trace(BasicMember<T, Group, Strength::Strong>::from_bits(member.bits()));
  }

  // A part of the object, with Members of its own.
  template <class Part>
    requires requires(const Part& part, Visitor& visitor) { part.trace(visitor); }
  void trace(const Part& part) {
    part.trace(*this);
  }

  template <class Part>
    requires requires(const Part& part, Visitor& visitor) { TraceOf<Part>::trace(visitor, part); }
  void trace(const Part& part) {
    TraceOf<Part>::trace(*this, part);
  }

  // The value lives while the key does, unless something else keeps it. `key` is weak: it becomes null, and so should
  // the pair be dropped by a weak call-back. A null key keeps nothing.
  template <class K, class V, class Group>
  void trace_ephemeron(const BasicMember<K, Group, Strength::Weak>& key,
                       const BasicMember<V, Group, Strength::Strong>& value) {
    if (!key.is_object()) return;
    if (value.is_object()) add_ephemeron(key.operator->(), value.operator->());
    add_weak(&key, key.operator->());
  }

  // The same for who takes pairs with dead keys out in a weak call-back, where null would mean something else.
  template <class K, class V, class Group>
  void trace_while_alive(const BasicMember<K, Group, Strength::Weak>& key,
                         const BasicMember<V, Group, Strength::Strong>& value) {
    if (key.is_object() && value.is_object()) add_ephemeron(key.operator->(), value.operator->());
  }

  // To be called when marking has ended, if `object` has survived; before members are cleared that died.
  void add_weak_callback(WeakCallback callback, const void* object);

 private:
  friend class Marker;
  explicit Visitor(Marker& marker) noexcept : marker_(marker) {}

  // No branch on whether there is an object: whether a member is null is a coin toss to the processor.
  void push(std::uint32_t granule, bool is_object) {
    if (top_ == end_) [[unlikely]]
      grow();
    *top_ = granule;
    top_ += is_object ? 1 : 0;
  }
  void push_interior(const void* address);
  void grow();
  void add_weak(const void* slot, const void* target);
  void add_ephemeron(const void* key, const void* value);

  std::uint32_t* top_ = nullptr;
  std::uint32_t* end_ = nullptr;
  Marker& marker_;
};

}  // namespace tare::gc
