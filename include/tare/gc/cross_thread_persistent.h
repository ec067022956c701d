// tare/gc/cross_thread_persistent.h: CrossThreadPersistent and WeakCrossThreadPersistent, roots that any thread may
// have.
//
//   auto task = [text = tare::gc::CrossThreadPersistent<Text>(text)] { use(text.get()); };     // runs anywhere, drops it there
//
// They keep an object, or detect its death, and may be made, copied, moved and destroyed by any thread. The threads
// themselves must order their accesses to the object. One lock for the process guards their being set and cleared, and
// the end of a collection holds it: for the few objects that other threads get, not for data structures. Reading the
// object through one takes no lock.
//
// The first root of an object is made by its heap's thread, or by one that has proof that the object lives. When the
// heap is destroyed they become null.
//
// Thread-safety: any thread; one root by one thread at a time.
//
// Source: Oilpan's classes of these names.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <utility>

#include "tare/gc/persistent.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Such roots as their heap sees them: a ring under the lock.
class TARE_API CrossRootLink {
 public:
  CrossRootLink(const CrossRootLink&) = delete;
  CrossRootLink& operator=(const CrossRootLink&) = delete;

 protected:
  CrossRootLink() noexcept = default;
  ~CrossRootLink() { clear(); }

  // A root is one thread's at a time, and others make it null only: when its object dies, or with it the heap.
  const void* object() const noexcept { return object_.load(std::memory_order_acquire); }
  void set(const void* object, RootKind kind) noexcept;  // null: none
  // The other's object, if it lives; null otherwise.
  void set_from(const CrossRootLink& other, RootKind kind) noexcept;
  void clear() noexcept { set(nullptr, RootKind::Strong); }

 private:
  template <class Link, class LocatedLink>
  friend class RootRing;
  void unlink() noexcept;  // holding the lock
  void link(const void* object, RootKind kind) noexcept;

  std::atomic<const void*> object_{nullptr};
  CrossRootLink* next_ = nullptr;
  CrossRootLink* previous_ = nullptr;
};

template <class T, RootKind kKind>
class CrossThreadRoot : private CrossRootLink {
 public:
  using element_type = T;

  CrossThreadRoot() noexcept = default;
  CrossThreadRoot(T* object) noexcept { set(object, kKind); }  // NOLINT(google-explicit-constructor)
  CrossThreadRoot(const CrossThreadRoot& other) noexcept { set_from(other, kKind); }
  CrossThreadRoot(CrossThreadRoot&& other) noexcept {
    set_from(other, kKind);
    other.clear();
  }
  // A weak one of a strong one, or the other way: null if the object has died.
  template <RootKind kOther>
    requires(kOther != kKind)
  explicit CrossThreadRoot(const CrossThreadRoot<T, kOther>& other) noexcept {
    set_from(other, kKind);
  }
  // Of a derived class.
  template <class U, RootKind kOther>
    requires(std::convertible_to<U*, T*> && !std::same_as<U, T>)
  explicit(kOther != kKind) CrossThreadRoot(const CrossThreadRoot<U, kOther>& other) noexcept {
    if constexpr (kOther == RootKind::Strong) {
      set(static_cast<T*>(other.get()), kKind);
    } else {
      const auto kept = other.lock();  // or it might die between the two
      set(static_cast<T*>(kept.get()), kKind);
    }
  }
  ~CrossThreadRoot() = default;

  CrossThreadRoot& operator=(const CrossThreadRoot& other) noexcept {
    if (this != &other) set_from(other, kKind);
    return *this;
  }
  CrossThreadRoot& operator=(CrossThreadRoot&& other) noexcept {
    if (this != &other) {
      set_from(other, kKind);
      other.clear();
    }
    return *this;
  }
  CrossThreadRoot& operator=(T* object) noexcept {
    set(object, kKind);
    return *this;
  }

  // Of a strong one.
  T* get() const noexcept
    requires(kKind == RootKind::Strong)
  {
    return static_cast<T*>(const_cast<void*>(object()));
  }
  T* operator->() const noexcept
    requires(kKind == RootKind::Strong)
  {
    return get();
  }
  // Of a weak one: keeps the object, or is null.
  CrossThreadRoot<T, RootKind::Strong> lock() const noexcept
    requires(kKind == RootKind::Weak)
  {
    return CrossThreadRoot<T, RootKind::Strong>(*this);
  }
  explicit operator bool() const noexcept { return object() != nullptr; }
  // True if they point to the same; of a weak one, null by now also counts.
  template <RootKind kOther>
  bool operator==(const CrossThreadRoot<T, kOther>& other) const noexcept {
    return object() == other.object();
  }
  bool operator==(const T* raw) const noexcept { return object() == raw; }
  void clear() noexcept { CrossRootLink::clear(); }

 private:
  template <class U, RootKind kOther>
  friend class CrossThreadRoot;
};

template <class T>
using CrossThreadPersistent = CrossThreadRoot<T, RootKind::Strong>;
template <class T>
using WeakCrossThreadPersistent = CrossThreadRoot<T, RootKind::Weak>;

}  // namespace tare::inline TARE_ABI::gc
