// tare/gc/member.h: pointers to collected objects, of 4 bytes: Member, WeakMember, UntracedMember; and of 8,
// UncompressedMember.
//
//   Member<T>              keeps its object; for fields of collected objects, which name it in trace()
//   WeakMember<T>          doesn't, and becomes null when the object dies; trace() names it, too
//   UntracedMember<T>      neither: who uses it knows that the object lives
//   UncompressedMember<T>  keeps, and is read without decoding: for the few fields where that counts
//
// All of them may be null, or the sentinel, which hash tables use for deleted keys. They're copied, compared, ordered,
// hashed and tested without being decoded. The cost of decoding depends on the group's scheme (tare/gc/decoding.h):
// with the default p->x is as cheap as an index, and p.get() has a test for null beside an addition.
//
// Storing one informs a heap that is being marked (tare/gc/barrier.h); otherwise that is a load and a branch.
//
// They lie in collected objects and in their parts, and for as long as a function runs on the stack, where the scan
// finds them. Elsewhere, in globals and in memory of malloc, they aren't found: use a Persistent
// (tare/gc/persistent.h). That includes the captures of a lambda: the lambda may lie on the stack, and must not be kept
// in a std::function or passed to another thread. Programs with assertions end with a message where a Member is stored
// there (tare/gc/store_checks.h). A plain T* is right for parameters and locals.
//
// Thread-safety: as plain pointers. The collector reads them on another thread, if a heap is marked concurrently;
// stores are atomic for that, of 4 bytes (of 8 for UncompressedMember). A Member points into its own object's heap
// only; debug builds check it when collecting.
//
// Source: Oilpan's classes of these names, and "Pointer compression in Oilpan" (2022) for the operations without
// decoding.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "tare/compressed_ptr.h"
#include "tare/gc/barrier.h"
#include "tare/gc/decoding.h"
#include "tare/gc/store_checks.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

enum class Strength : std::uint8_t { Strong, Weak, Untraced };

// For a Member that is constructed in an object which is whole already, so that another thread may be tracing the
// place:
//   ::new (slot) Member<Node>(node, tare::gc::kInSharedPlace);
// Members in an object under construction don't need it, nor does work that trace() leaves to its heap's thread.
struct InSharedPlace {};
inline constexpr InSharedPlace kInSharedPlace;

// kChecks is in its name because checked ones are passed otherwise: they aren't trivially copyable.
template <class T, class Group, Strength kStrength, StoreChecks kChecks = kStoreChecksOf<Group>>
class BasicMember {
  using Decoding = typename Group::Decoding;
  // A user of an untraced one must keep its object alive by another reference.
  static constexpr bool kHasBarrier = kStrength != Strength::Untraced && kWriteBarrierOf<Group> != WriteBarrier::None;
  static constexpr bool kIsChecked = kStrength != Strength::Untraced && kChecks != StoreChecks::None;
  static constexpr bool kTells = kHasBarrier || kIsChecked;

 public:
  using element_type = T;

  constexpr BasicMember() noexcept : bits_(0) {}                                  // null
  constexpr BasicMember(std::nullptr_t) noexcept : bits_(0) {}                    // NOLINT(google-explicit-constructor)
  constexpr BasicMember(SentinelPtr) noexcept : bits_(kSentinelBits) {}           // NOLINT(google-explicit-constructor)
  BasicMember(T* raw) noexcept : bits_(Decoding::encode(raw)) { run_barrier(); }  // NOLINT(google-explicit-constructor)
  BasicMember(T* raw, InSharedPlace) noexcept { store(Decoding::encode(raw)); }

  // From another strength, or a derived class: a base that lies further in costs an addition and a test.
  template <class U, Strength kOther>
    requires(std::convertible_to<U*, T*> && !(std::same_as<U, T> && kOther == kStrength))
  BasicMember(const BasicMember<U, Group, kOther>& other) noexcept  // NOLINT(google-explicit-constructor)
      : bits_(convert(other)) {
    run_barrier();
  }

  constexpr BasicMember(const BasicMember&) noexcept
    requires(!kTells)
  = default;
  constexpr BasicMember(const BasicMember& other) noexcept
    requires kTells
      : bits_(other.bits_) {
    if (!std::is_constant_evaluated()) run_barrier();
  }
  ~BasicMember() = default;

  constexpr BasicMember& operator=(const BasicMember&) noexcept
    requires(!kTells)
  = default;
  BasicMember& operator=(const BasicMember& other) noexcept  // NOLINT(bugprone-unhandled-self-assignment)
    requires kTells
  {
    return store(other.bits_);
  }
  BasicMember& operator=(T* raw) noexcept { return store(Decoding::encode(raw)); }
  template <class U, Strength kOther>
    requires(std::convertible_to<U*, T*> && !(std::same_as<U, T> && kOther == kStrength))
  BasicMember& operator=(const BasicMember<U, Group, kOther>& other) noexcept {
    return store(convert(other));
  }
  // Templates, so that `= {}` isn't ambiguous.
  template <std::same_as<std::nullptr_t> Null>
  BasicMember& operator=(Null) noexcept {
    return put(0);
  }
  template <std::same_as<SentinelPtr> Sentinel>
  BasicMember& operator=(Sentinel) noexcept {
    return put(kSentinelBits);
  }

  T* get() const noexcept { return static_cast<T*>(Decoding::decode(bits_)); }
  // Of an object only: neither null nor the sentinel.
  T* operator->() const noexcept { return static_cast<T*>(Decoding::decode_object(bits_)); }
  T& operator*() const noexcept { return *operator->(); }
  operator T*() const noexcept { return get(); }  // NOLINT(google-explicit-constructor): parameters are plain pointers

  // False for null only: the sentinel is true.
  constexpr explicit operator bool() const noexcept { return bits_ != 0; }
  constexpr bool is_sentinel() const noexcept { return bits_ == kSentinelBits; }
  constexpr bool is_object() const noexcept { return bits_ > kSentinelBits; }

  void clear() noexcept { put(0); }
  // The pointer, which this Member no longer has.
  T* release() noexcept {
    T* raw = get();
    clear();
    return raw;
  }
  void swap(BasicMember& other) noexcept {
    const std::uint32_t bits = bits_;
    store(other.bits_);
    other.store(bits);
  }

  constexpr std::uint32_t bits() const noexcept { return bits_; }
  // As it stands while another thread may store.
  std::uint32_t shared_bits() const noexcept { return __atomic_load_n(&bits_, __ATOMIC_ACQUIRE); }
  static std::uint32_t bits_of(const T* raw) noexcept { return Decoding::encode(raw); }
  static constexpr BasicMember from_bits(std::uint32_t bits) noexcept { return BasicMember(Bits{bits}); }

  // To compare with a plain pointer, that pointer is encoded, because encoding is cheaper than decoding.
  friend constexpr bool operator==(const BasicMember& a, std::nullptr_t) noexcept { return a.bits_ == 0; }
  friend constexpr bool operator==(const BasicMember& a, SentinelPtr) noexcept { return a.bits_ == kSentinelBits; }
  template <class U>
    requires(std::convertible_to<U*, T*> || std::convertible_to<T*, U*>)
  friend bool operator==(const BasicMember& a, U* b) noexcept {
    if constexpr (std::convertible_to<U*, T*>) {
      return a.bits_ == Decoding::encode(static_cast<T*>(b));
    } else {
      return static_cast<U*>(a.get()) == b;
    }
  }
  template <class U, Strength kOther>
    requires(std::same_as<std::remove_cv_t<U>, std::remove_cv_t<T>>)
  friend constexpr bool operator==(const BasicMember& a, const BasicMember<U, Group, kOther>& b) noexcept {
    return a.bits_ == b.bits();
  }
  // By address: null, then the sentinel, then objects.
  friend constexpr std::strong_ordering operator<=>(const BasicMember& a, const BasicMember& b) noexcept {
    return a.bits_ <=> b.bits_;
  }

 private:
  static constexpr std::uint32_t kSentinelBits = 1;
  struct Bits {
    std::uint32_t bits;
  };

  constexpr explicit BasicMember(Bits bits) noexcept : bits_(bits.bits) {}

  void run_barrier() const noexcept { run_barrier(bits_); }
  void run_barrier(std::uint32_t bits) const noexcept {
    if constexpr (kHasBarrier) write_barrier<Group>(bits, this);
    if constexpr (kIsChecked) {
      if (is_object()) store_checks_details::check(Decoding::kCageSlot, this, Decoding::decode_object(bits_));
    }
  }
  // A thread that reads the new bits must also read the object's mark, which was set before: hence the release, on x86
  // a plain store.
  BasicMember& put(std::uint32_t bits) noexcept {
    if constexpr (kHasBarrier) {
      __atomic_store_n(&bits_, bits, __ATOMIC_RELEASE);
    } else {
      bits_ = bits;
    }
    return *this;
  }
  BasicMember& store(std::uint32_t bits) noexcept {
    put(bits);
    run_barrier(bits);
    return *this;
  }

  template <class U, Strength kOther>
  static std::uint32_t convert(const BasicMember<U, Group, kOther>& other) noexcept {
    if constexpr (std::same_as<std::remove_cv_t<U>, std::remove_cv_t<T>>) {
      return other.bits();
    } else {
      if (!other.is_object()) return other.bits();
      return Decoding::encode(static_cast<T*>(other.operator->()));
    }
  }

  std::uint32_t bits_;
};

template <class T, class Group = DefaultGroup>
using Member = BasicMember<T, Group, Strength::Strong>;
template <class T, class Group = DefaultGroup>
using WeakMember = BasicMember<T, Group, Strength::Weak>;
template <class T, class Group = DefaultGroup>
using UntracedMember = BasicMember<T, Group, Strength::Untraced>;

// Types that may be moved as bytes, if trace_again() follows.
template <class T>
inline constexpr bool kIsMember = false;
template <class T, class Group, Strength kStrength>
inline constexpr bool kIsMember<BasicMember<T, Group, kStrength>> = true;

template <class T, class Group = DefaultGroup>
class UncompressedMember {
  static constexpr bool kHasBarrier = kWriteBarrierOf<Group> != WriteBarrier::None;

 public:
  using element_type = T;

  constexpr UncompressedMember() noexcept = default;
  UncompressedMember(T* raw) noexcept : raw_(raw) { run_barrier(); }  // NOLINT(google-explicit-constructor)
  template <class U, Strength kOther>
    requires std::convertible_to<U*, T*>
  UncompressedMember(const BasicMember<U, Group, kOther>& other) noexcept  // NOLINT(google-explicit-constructor)
      : UncompressedMember(static_cast<T*>(other.get())) {}
  UncompressedMember(const UncompressedMember& other) noexcept : UncompressedMember(other.raw_) {}
  ~UncompressedMember() = default;

  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): stores the same pointer
  UncompressedMember& operator=(const UncompressedMember& other) noexcept { return *this = other.raw_; }
  UncompressedMember& operator=(T* raw) noexcept {
    __atomic_store_n(&raw_, raw, __ATOMIC_RELEASE);
    run_barrier();
    return *this;
  }
  template <class U, Strength kOther>
    requires std::convertible_to<U*, T*>
  UncompressedMember& operator=(const BasicMember<U, Group, kOther>& other) noexcept {
    return *this = static_cast<T*>(other.get());
  }

  constexpr T* get() const noexcept { return raw_; }
  constexpr T* operator->() const noexcept { return raw_; }
  constexpr T& operator*() const noexcept { return *raw_; }
  constexpr operator T*() const noexcept { return raw_; }  // NOLINT(google-explicit-constructor)
  constexpr explicit operator bool() const noexcept { return raw_ != nullptr; }
  void clear() noexcept { *this = static_cast<T*>(nullptr); }

  // As it stands while another thread may store.
  T* shared() const noexcept { return __atomic_load_n(&raw_, __ATOMIC_ACQUIRE); }

 private:
  void run_barrier() const noexcept {
    if constexpr (kHasBarrier) write_barrier<Group>(Group::Decoding::encode(raw_), this);
  }

  T* raw_ = nullptr;
};

}  // namespace tare::inline TARE_ABI::gc

template <class T, class Group, tare::gc::Strength kStrength>
struct std::hash<tare::gc::BasicMember<T, Group, kStrength>> {
  std::size_t operator()(const tare::gc::BasicMember<T, Group, kStrength>& member) const noexcept {
    return tare::hash_bits(member.bits());
  }
};
