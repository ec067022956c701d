// tare/ref_ptr.h: RefPtr<T> holds a counted object; CompressedRefPtr<T, Tag> does so in 4 bytes, in a cage.
//
//   tare::RefPtr<Style> style = tare::make_ref<Style>(12);    // the object's first reference
//   tare::RefPtr<Style> shared = style;                       // one more
//   tare::RefPtr<Style> moved = std::move(style);             // the same
//   tare::CompressedRefPtr<Style, StyleCage> small = moved;   // one more; the object lies in the cage
//   tare::RefPtr<Style> mine = tare::share_ref(small.get());  // one more, of an object that is held
//
// A plain pointer doesn't convert: an object is born with one reference, so `RefPtr<Style> style = new Style` would
// have two and live for ever. adopt_ref() takes over the reference that is there, share_ref() adds one; which of them
// is meant is written down each time.
//
// T has add_ref() and release_ref(): see tare/ref_counted.h, whose classes also keep the ledger (tare/ref_ledger.h).
//
// Thread-safety: as of plain pointers; the object's class decides if several threads may hold it. Nothing throws; only
// the object's destructor can fail. Copies, moves and comparisons of compressed ones don't decode, save for counting.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "tare/compressed_ptr.h"
#include "tare/ref_counted.h"
#include "tare/relocatable.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

inline namespace TARE_REF_LEDGER_NAMESPACE {

// Takes over a reference that the caller has.
struct AdoptTag {};
inline constexpr AdoptTag kAdopt{};
// Adds a reference to an object that has at least one.
struct ShareTag {};
inline constexpr ShareTag kShare{};

// The one implementation of both. Pointer is T* or CompressedPtr<T, Tag>.
template <class T, class Pointer>
class BasicRefPtr {
 public:
  using element_type = T;

  constexpr BasicRefPtr() noexcept = default;        // holds nothing
  constexpr BasicRefPtr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  BasicRefPtr(T* object) = delete;                   // make_ref(), adopt_ref() or share_ref()
  // Null needs no reference.
  BasicRefPtr(T* object, ShareTag) noexcept : stored_(object) { take(); }
  BasicRefPtr(T* object, AdoptTag) noexcept : stored_(object) { pass(nullptr, this); }

  BasicRefPtr(const BasicRefPtr& other) noexcept : stored_(other.stored_) { take(); }
  BasicRefPtr(BasicRefPtr&& other) noexcept : stored_(std::exchange(other.stored_, nullptr)) { pass(&other, this); }

  // From a derived class's, or between plain and compressed.
  template <class U, class OtherPointer>
    requires std::convertible_to<U*, T*>
  BasicRefPtr(const BasicRefPtr<U, OtherPointer>& other) noexcept  // NOLINT(google-explicit-constructor)
      : stored_(converted(other.stored_)) {
    take();
  }
  template <class U, class OtherPointer>
    requires std::convertible_to<U*, T*>
  BasicRefPtr(BasicRefPtr<U, OtherPointer>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : stored_(converted(std::exchange(other.stored_, nullptr))) {
    pass(&other, this);
  }

  // One for all: the argument is a copy, or a moved value. Safe for an object's own member, since the old reference is
  // released last.
  BasicRefPtr& operator=(BasicRefPtr other) noexcept {
    swap(other);
    return *this;
  }
  ~BasicRefPtr() { drop(); }

  void reset() noexcept { BasicRefPtr().swap(*this); }
  void swap(BasicRefPtr& other) noexcept {
    if constexpr (kTellsLedger) {
      if (this != &other) {
        const char between = 0;  // an address without an owner
        other.pass(&other, &between);
        pass(this, &other);
        other.pass(&between, this);
      }
    }
    std::swap(stored_, other.stored_);
  }

  // The reference becomes the caller's, which passes it to adopt_ref or calls release_ref(). Null if there is none.
  [[nodiscard]] T* leak_ref() noexcept {
    pass(this, nullptr);
    return plain(std::exchange(stored_, nullptr));
  }

  T* get() const noexcept { return plain(stored_); }
  T* operator->() const noexcept { return object(); }
  T& operator*() const noexcept { return *object(); }
  explicit operator bool() const noexcept { return static_cast<bool>(stored_); }

  // The stored pointer: T* or CompressedPtr<T, Tag>.
  Pointer stored() const noexcept { return stored_; }

  friend bool operator==(const BasicRefPtr& a, const BasicRefPtr& b) noexcept { return a.stored_ == b.stored_; }
  friend bool operator==(const BasicRefPtr& a, std::nullptr_t) noexcept { return a.stored_ == nullptr; }
  friend bool operator==(const BasicRefPtr& a, const T* b) noexcept { return a.stored_ == const_cast<T*>(b); }
  friend std::strong_ordering operator<=>(const BasicRefPtr& a, const BasicRefPtr& b) noexcept {
    return std::compare_three_way()(a.stored_, b.stored_);
  }

 private:
  template <class U, class OtherPointer>
  friend class BasicRefPtr;

  static constexpr bool kTellsLedger = kRefLedger && requires(T* object) { object->pass_ref(nullptr, nullptr); };

  static T* plain(T* pointer) noexcept { return pointer; }
  template <class Tag>
  static T* plain(CompressedPtr<T, Tag> pointer) noexcept {
    return pointer.get();
  }

  // Without decoding where both are compressed alike.
  template <class OtherPointer>
  static Pointer converted(OtherPointer other) noexcept {
    if constexpr (std::convertible_to<OtherPointer, Pointer>) {
      return other;
    } else {
      return other.get();
    }
  }

  T* object() const noexcept {
    if constexpr (std::is_pointer_v<Pointer>) {
      return stored_;
    } else {
      return stored_.operator->();
    }
  }

  void take() const noexcept {
    if (!stored_) return;
    if constexpr (kTellsLedger) {
      object()->add_ref_for(this);
      stay_on_stack();
    } else {
      object()->add_ref();
    }
  }
  void drop() const noexcept {
    if (!stored_) return;
    if constexpr (kTellsLedger) {
      object()->release_ref_for(this);
    } else {
      object()->release_ref();
    }
  }
  void pass([[maybe_unused]] const void* from, [[maybe_unused]] const void* to) const noexcept {
    if constexpr (kTellsLedger) {
      if (stored_) object()->pass_ref(from, to);
      stay_on_stack();
    }
  }

  Pointer stored_ = nullptr;
};

template <class T>
using RefPtr = BasicRefPtr<T, T*>;
template <class T, class Tag>
using CompressedRefPtr = BasicRefPtr<T, CompressedPtr<T, Tag>>;

// Takes over the reference that an object is born with, or that leak_ref() gave.
template <class T>
[[nodiscard]] RefPtr<T> adopt_ref(T* object) noexcept {
  return RefPtr<T>(object, kAdopt);
}

// Adds a reference to an object that is held already, or is immortal: not to a new one. Null gives a null RefPtr.
template <class T>
[[nodiscard]] RefPtr<T> share_ref(T* object) noexcept {
  return RefPtr<T>(object, kShare);
}

// A new object on the heap. If `new` fails, the program ends or handles the exception of new.
template <class T, class... Arguments>
[[nodiscard]] RefPtr<T> make_ref(Arguments&&... arguments) {
  return adopt_ref(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace TARE_REF_LEDGER_NAMESPACE

// With the ledger RefPtrs are known by address.
template <class T, class Pointer>
inline constexpr bool is_trivially_relocatable<BasicRefPtr<T, Pointer>> = !kRefLedger;

}  // namespace tare::inline TARE_ABI

template <class T, class Pointer>
struct std::hash<tare::BasicRefPtr<T, Pointer>> {
  std::size_t operator()(const tare::BasicRefPtr<T, Pointer>& held) const noexcept {
    return std::hash<Pointer>()(held.stored());
  }
};
