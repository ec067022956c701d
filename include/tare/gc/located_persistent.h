// tare/gc/located_persistent.h: LocatedPersistent and LocatedCrossThreadPersistent, roots with the source line that
// made them.
//
//   tare::gc::LocatedPersistent<Document> current_;
//   current_ = document;                                       // from here on a snapshot names this line
//
//   $ tare gc graph app.tgg
//      12.4 MiB        1  src/window.cc:42  void Window::open(Document*)
//
// For roots that are suspected of keeping too much. A snapshot of the heap (tare/gc/heap_graph.h) has the file, the
// line and the function of each, and the objects that all roots of a line keep alive. They take 24 bytes more than
// others; a Persistent pays nothing for it.
//
// The line is that where the root got its object from a pointer, a Member or a root of another kind. Copies and moves
// of a located root keep its line: otherwise those in a container would have a line of the standard library. So
// elements are added by push_back(object), which converts in the caller's line, rather than by emplace_back().
//
// Thread-safety: as Persistent (tare/gc/persistent.h) and CrossThreadPersistent (tare/gc/cross_thread_persistent.h).
//
// Source of the idea: Oilpan, whose Persistents can do it by a policy.
#pragma once

#include <concepts>
#include <cstddef>

#include "tare/gc/cross_thread_persistent.h"
#include "tare/gc/persistent.h"
#include "tare/internal/export.h"
#include "tare/internal/source_location.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class LocatedRootLink : public RootLink {
 public:
  SourceLocation where() const noexcept { return where_; }

 protected:
  LocatedRootLink() noexcept = default;
  explicit LocatedRootLink(SourceLocation where) noexcept : where_(where) {}
  ~LocatedRootLink() = default;

  void be_at(SourceLocation where) noexcept { where_ = where; }

 private:
  SourceLocation where_;
};

template <class T>
class LocatedPersistent : private LocatedRootLink {
 public:
  using element_type = T;

  LocatedPersistent() noexcept = default;
  LocatedPersistent(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  // From a pointer, or from a type that converts to one: Members and other roots.
  template <std::convertible_to<T*> From>
  LocatedPersistent(const From& from,  // NOLINT(google-explicit-constructor)
                    SourceLocation where = SourceLocation::current()) noexcept
      : LocatedRootLink(where) {
    assign(from);
  }
  LocatedPersistent(const LocatedPersistent& other) noexcept : LocatedRootLink(other.where()) { assign(other.get()); }
  LocatedPersistent(LocatedPersistent&& other) noexcept : LocatedRootLink(other.where()) { take(other); }
  template <class U>
    requires(std::convertible_to<U*, T*> && !std::same_as<U, T>)
  LocatedPersistent(const LocatedPersistent<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : LocatedPersistent(other.get(), other.where()) {}
  ~LocatedPersistent() = default;

  // All other assignments convert first, in the caller's line.
  LocatedPersistent& operator=(const LocatedPersistent& other) noexcept {
    if (this != &other) {
      be_at(other.where());
      assign(other.get());
    }
    return *this;
  }
  LocatedPersistent& operator=(LocatedPersistent&& other) noexcept {
    if (this != &other) {
      be_at(other.where());
      unlink();
      take(other);
    }
    return *this;
  }

  T* get() const noexcept { return static_cast<T*>(const_cast<void*>(object())); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  operator T*() const noexcept { return get(); }  // NOLINT(google-explicit-constructor)
  explicit operator bool() const noexcept { return get() != nullptr; }
  // The source line that made the reference. If it has always been null: line 0, and no file.
  SourceLocation where() const noexcept { return LocatedRootLink::where(); }

  void clear() noexcept { unlink(); }

 private:
  void assign(T* object) noexcept {
    if (object == nullptr) {
      unlink();
    } else {
      link(object, RootKind::Located);
    }
  }
};

// Its line is written only while no collection can see the root.
class LocatedCrossRootLink : public CrossRootLink {
 public:
  SourceLocation where() const noexcept { return where_; }

 protected:
  LocatedCrossRootLink() noexcept = default;
  ~LocatedCrossRootLink() = default;

  void set_at(const void* object, SourceLocation where) noexcept {
    clear();
    where_ = where;
    set(object, RootKind::Located);
  }
  void set_from(const LocatedCrossRootLink& other) noexcept {
    clear();
    where_ = other.where_;
    CrossRootLink::set_from(other, RootKind::Located);
  }

 private:
  SourceLocation where_;
};

template <class T>
class LocatedCrossThreadPersistent : private LocatedCrossRootLink {
 public:
  using element_type = T;

  LocatedCrossThreadPersistent() noexcept = default;
  LocatedCrossThreadPersistent(T* object,  // NOLINT(google-explicit-constructor)
                               SourceLocation where = SourceLocation::current()) noexcept {
    set_at(object, where);
  }
  template <class U>
    requires std::convertible_to<U*, T*>
  LocatedCrossThreadPersistent(const CrossThreadPersistent<U>& other,  // NOLINT(google-explicit-constructor)
                               SourceLocation where = SourceLocation::current()) noexcept {
    set_at(static_cast<T*>(other.get()), where);
  }
  LocatedCrossThreadPersistent(const LocatedCrossThreadPersistent& other) noexcept { set_from(other); }
  LocatedCrossThreadPersistent(LocatedCrossThreadPersistent&& other) noexcept {
    set_from(other);
    other.clear();
  }
  ~LocatedCrossThreadPersistent() = default;

  LocatedCrossThreadPersistent& operator=(const LocatedCrossThreadPersistent& other) noexcept {
    if (this != &other) set_from(other);
    return *this;
  }
  LocatedCrossThreadPersistent& operator=(LocatedCrossThreadPersistent&& other) noexcept {
    if (this != &other) {
      set_from(other);
      other.clear();
    }
    return *this;
  }

  T* get() const noexcept { return static_cast<T*>(const_cast<void*>(object())); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  explicit operator bool() const noexcept { return object() != nullptr; }
  SourceLocation where() const noexcept { return LocatedCrossRootLink::where(); }
  void clear() noexcept { CrossRootLink::clear(); }
};

}  // namespace tare::inline TARE_ABI::gc
