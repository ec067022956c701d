// tare/gc/visitor.h: Visitor, to which an object's trace() names its references; and Liveness, which gives weak
// call-backs the state of objects.
//
// Nothing in it is virtual: naming a Member stores 4 bytes into the collector's list. The verifier and the snapshot of
// the heap read the same list.
//
// Thread-safety: a visitor belongs to the caller of trace(). In a heap that is marked concurrently
// (HeapOptions::marking) that is another thread, while the heap's own changes the object. Members of all kinds may be
// read there, by naming them; other data that trace() reads to find them may not:
//   void trace(tare::gc::Visitor& visitor) const {
//     if (visitor.leave_to_owner()) return;       // then the heap's thread calls it, soon
//     if (kind_ == Kind::Text) visitor.trace(as_text_);
//   }
// The library's containers, optional and variant do that by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tare/gc/member.h"
#include "tare/gc/object.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class Marker;

// The liveness of objects in the collection under way.
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

// The argument of a weak call-back: the object that registered it, which is alive. It may clear its own fields, but not
// allocate. An object that was made while its heap was being marked isn't traced, so its call-back doesn't run this
// time. Targets in its Members and WeakMembers live, but the target of its UntracedMember may die unnoticed: classes
// with call-backs use WeakMembers.
using WeakCallback = void (*)(const Liveness& liveness, const void* object);

// How to trace a class that has no trace() of its own, being others': specialise it with a
// `static void trace(Visitor&, const T&)`. tare/gc/trace_std.h does it for some of the standard library's.
template <class T>
struct TraceOf;

class TARE_API Visitor {
 public:
  template <class T, class Group>
  void trace(const BasicMember<T, Group, Strength::Strong>& member) {
    const std::uint32_t bits = member.shared_bits();
    if constexpr (IsMixin<T>) {
      if (bits > 1) push_interior(Group::Decoding::decode_object(bits));
    } else {
      push(Group::Decoding::granule(bits), bits > 1);
    }
  }
  template <class T, class Group>
  void trace(const BasicMember<T, Group, Strength::Weak>& member) {
    if (member.shared_bits() > 1) add_weak(&member);
  }
  template <class T, class Group>
  void trace(const BasicMember<T, Group, Strength::Untraced>&) = delete;  // it isn't traced: leave it out
  template <class T, class Group>
  void trace(const UncompressedMember<T, Group>& member) {
    static_assert(Collected<T> || IsMixin<T>, "only objects and their mixins may be pointed to");
    if (const T* raw = member.shared(); raw != nullptr) push_interior(raw);
  }

  // A container's array, to which nothing else points, so that Heap::compact() may move it.
  template <class Array, class Group>
    requires MovedByContainer<Array>
  void trace_array(const BasicMember<Array, Group, Strength::Strong>& member) {
    if (is_compacting_) [[unlikely]] {
      if (member) add_array(&member);
    } else {
      trace(member);
    }
  }
  template <class Array, class Group>
  void trace_array(const BasicMember<Array, Group, Strength::Strong>& member) {
    trace(member);
  }

  // A weak member that this time keeps its object.
  template <class T, class Group>
  void trace_strongly(const BasicMember<T, Group, Strength::Weak>& member) {
    trace(BasicMember<T, Group, Strength::Strong>::from_bits(member.shared_bits()));
  }

  // True where trace() runs on another thread than the object's. Then it is called again on that, and its present work
  // doesn't count.
  bool leave_to_owner() noexcept {
    is_left_ = is_left_ || is_concurrent_;
    return is_concurrent_;
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
    if (key.shared_bits() > 1) add_weak(&key);
    add_ephemeron(&key, &value);  // also without a key, which may get one before marking ends
  }

  // The same for tables that remove pairs with dead keys in a weak call-back, because null would have another meaning;
  // and for tables that store a value with each key.
  template <class K, class V, class Group>
  void trace_while_alive(const BasicMember<K, Group, Strength::Weak>& key,
                         const BasicMember<V, Group, Strength::Strong>& value) {
    if (key.shared_bits() > 1 && value.shared_bits() > 1) add_ephemeron(&key, &value);
  }

  // To be called when marking has ended, if `object` has survived; before members are cleared that died.
  void add_weak_callback(WeakCallback callback, const void* object);

 private:
  friend class Marker;
  explicit Visitor(Marker& marker) noexcept : marker_(marker) {}

  // No branch on the presence of an object: null members are unpredictable for the processor.
  void push(std::uint32_t granule, bool is_object) {
    if (top_ == end_) [[unlikely]]
      grow();
    *top_ = granule;
    top_ += is_object ? 1 : 0;
  }
  void push_interior(const void* address);
  void grow();
  // Of the 4 bytes of a Member.
  void add_weak(const void* slot);
  void add_ephemeron(const void* key_slot, const void* value_slot);
  void add_array(const void* slot);

  std::uint32_t* top_ = nullptr;
  std::uint32_t* end_ = nullptr;
  bool is_concurrent_ = false;
  bool is_left_ = false;
  bool is_compacting_ = false;
  Marker& marker_;
};

}  // namespace tare::inline TARE_ABI::gc
