// tare/gc/persistent.h: Persistent and WeakPersistent, pointers to collected objects from outside of their heap.
//
//   tare::gc::Persistent<Document> document = tare::gc::make<Document>(heap);   // keeps it and all it points to
//   tare::gc::WeakPersistent<Node> hovered = node;                              // null when the node has died
//
// For globals, members of classes that aren't collected, and containers of the standard library. In collected objects
// they'd be a root, and cycles through them never die: use Members there. 24 bytes: the pointer and the links of the
// list that the heap finds them by; so nothing is allocated and nothing can fail. When a heap is destroyed, its
// Persistents become null.
//
// A snapshot of the heap lists the roots that keep an object, with file and line for LocatedPersistents.
//
// Thread-safety: the thread of the object's heap; heaps that verify (HeapOptions::verifies) end the program otherwise.
//
// Source: Oilpan.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "tare/gc/member.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

enum class RootKind : std::uint8_t {
  Strong,
  Weak,
  Located,  // strong, with its source line: tare/gc/located_persistent.h
};
inline constexpr std::size_t kRootKinds = 3;

// The part of all roots that their heap uses. The list is a ring.
class TARE_API RootLink {
 public:
  RootLink(const RootLink&) = delete;
  RootLink& operator=(const RootLink&) = delete;

 protected:
  RootLink() noexcept = default;
  ~RootLink() { unlink(); }

  const void* object() const noexcept { return object_; }
  // Links the root to the heap of an object that isn't null, from which it was linked to another or to none.
  void link(const void* object, RootKind kind) noexcept;
  void unlink() noexcept {
    if (next_ == nullptr) return;
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = nullptr;
    object_ = nullptr;
  }
  // Takes the other's place, which is none afterwards. This one is none.
  void take(RootLink& other) noexcept {
    if (other.next_ == nullptr) return;
    object_ = std::exchange(other.object_, nullptr);
    next_ = std::exchange(other.next_, nullptr);
    previous_ = std::exchange(other.previous_, nullptr);
    next_->previous_ = this;
    previous_->next_ = this;
  }
  // Another object of the same heap.
  void point_to(const void* object) noexcept { object_ = object; }

 private:
  template <class Link, class LocatedLink>
  friend class RootRing;

  const void* object_ = nullptr;
  RootLink* next_ = nullptr;
  RootLink* previous_ = nullptr;
};

template <class T, RootKind kKind>
class Root : private RootLink {
  static_assert(kKind != RootKind::Located, "take a LocatedPersistent");

 public:
  using element_type = T;

  Root() noexcept = default;
  Root(std::nullptr_t) noexcept {}              // NOLINT(google-explicit-constructor)
  Root(T* object) noexcept { assign(object); }  // NOLINT(google-explicit-constructor)
  Root(const Root& other) noexcept : Root(other.get()) {}
  Root(Root&& other) noexcept { take(other); }
  template <class U, RootKind kOther>
    requires(std::convertible_to<U*, T*> && !(std::same_as<U, T> && kOther == kKind))
  Root(const Root<U, kOther>& other) noexcept : Root(static_cast<T*>(other.get())) {}  // NOLINT
  template <class U, class Group, Strength kStrength>
    requires std::convertible_to<U*, T*>
  Root(const BasicMember<U, Group, kStrength>& member) noexcept : Root(static_cast<T*>(member.get())) {}  // NOLINT
  ~Root() = default;

  Root& operator=(const Root& other) noexcept {
    assign(other.get());
    return *this;
  }
  Root& operator=(Root&& other) noexcept {
    if (this != &other) {
      unlink();
      take(other);
    }
    return *this;
  }
  Root& operator=(T* object) noexcept {
    assign(object);
    return *this;
  }
  template <class U, RootKind kOther>
    requires(std::convertible_to<U*, T*> && !(std::same_as<U, T> && kOther == kKind))
  Root& operator=(const Root<U, kOther>& other) noexcept {
    return *this = static_cast<T*>(other.get());
  }
  template <class U, class Group, Strength kStrength>
    requires std::convertible_to<U*, T*>
  Root& operator=(const BasicMember<U, Group, kStrength>& member) noexcept {
    return *this = static_cast<T*>(member.get());
  }
  Root& operator=(std::nullptr_t) noexcept {
    unlink();
    return *this;
  }

  // The slot has the type of every root.
  T* get() const noexcept { return static_cast<T*>(const_cast<void*>(object())); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  operator T*() const noexcept { return get(); }  // NOLINT(google-explicit-constructor)
  explicit operator bool() const noexcept { return get() != nullptr; }

  void clear() noexcept { unlink(); }
  // The object, which this root no longer keeps.
  T* release() noexcept {
    T* object = get();
    unlink();
    return object;
  }

 private:
  void assign(T* object) noexcept {
    if (object == nullptr) {
      unlink();
    } else if (object != get()) {
      link(object, kKind);
    }
  }
};

template <class T>
using Persistent = Root<T, RootKind::Strong>;
template <class T>
using WeakPersistent = Root<T, RootKind::Weak>;

}  // namespace tare::inline TARE_ABI::gc
