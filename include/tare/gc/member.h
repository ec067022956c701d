// tare/gc/member.h: pointers to collected objects, of 4 bytes: Member, WeakMember, UntracedMember; and of 8,
// UncompressedMember.
//
//   Member<T>              keeps its object; for fields of collected objects, which name it in trace()
//   WeakMember<T>          doesn't, and becomes null when the object dies; trace() names it, too
//   UntracedMember<T>      neither: who uses it knows that the object lives
//   UncompressedMember<T>  keeps, and is read without decoding: for the few fields where that counts
//
// All of them may be null, or the sentinel, which hash tables use for deleted keys. They're copied, compared, ordered,
// hashed and tested without being decoded. What decoding costs is up to the group's scheme (tare/gc/decoding.h): with
// the default p->x is as cheap as an index, and p.get() has a test for null beside an addition.
//
// They lie in collected objects and in their parts, and for as long as a function runs on the stack, where the scan
// finds them. Elsewhere, in globals and in what malloc gave, nobody finds them: take a Persistent
// (tare/gc/persistent.h). A plain T* is right for parameters and locals.
//
// Thread-safety: as plain pointers. A Member points into its own object's heap only; debug builds check it when
// collecting.
//
// Source: Oilpan's classes of these names, and "Pointer compression in Oilpan" (2022) for what isn't decoded.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "tare/compressed_ptr.h"
#include "tare/gc/decoding.h"

namespace tare::gc {

enum class Strength : std::uint8_t { Strong, Weak, Untraced };

template <class T, class Group, Strength kStrength>
class BasicMember {
  using Decoding = typename Group::Decoding;

 public:
  using element_type = T;

  constexpr BasicMember() noexcept = default;                            // null
  constexpr BasicMember(std::nullptr_t) noexcept {}                      // NOLINT(google-explicit-constructor)
  constexpr BasicMember(SentinelPtr) noexcept : bits_(kSentinelBits) {}  // NOLINT(google-explicit-constructor)
  BasicMember(T* raw) noexcept : bits_(Decoding::encode(raw)) {}         // NOLINT(google-explicit-constructor)

  // From another strength, or a derived class: a base that lies further in costs an addition and a test.
  template <class U, Strength kOther>
    requires(std::convertible_to<U*, T*> && !(std::same_as<U, T> && kOther == kStrength))
  BasicMember(const BasicMember<U, Group, kOther>& other) noexcept  // NOLINT(google-explicit-constructor)
      : bits_(convert(other)) {}

  T* get() const noexcept { return static_cast<T*>(Decoding::decode(bits_)); }
  // Of an object only: neither null nor the sentinel.
  T* operator->() const noexcept { return static_cast<T*>(Decoding::decode_object(bits_)); }
  T& operator*() const noexcept { return *operator->(); }
  operator T*() const noexcept { return get(); }  // NOLINT(google-explicit-constructor): parameters are plain pointers

  // False for null only: the sentinel is true.
  constexpr explicit operator bool() const noexcept { return bits_ != 0; }
  constexpr bool is_sentinel() const noexcept { return bits_ == kSentinelBits; }
  constexpr bool is_object() const noexcept { return bits_ > kSentinelBits; }

  void clear() noexcept { bits_ = 0; }
  void swap(BasicMember& other) noexcept {
    const std::uint32_t bits = bits_;
    bits_ = other.bits_;
    other.bits_ = bits;
  }

  constexpr std::uint32_t bits() const noexcept { return bits_; }
  static constexpr BasicMember from_bits(std::uint32_t bits) noexcept {
    BasicMember made;
    made.bits_ = bits;
    return made;
  }

  // Against plain pointers: those are encoded, which is cheaper than decoding.
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

  template <class U, Strength kOther>
  static std::uint32_t convert(const BasicMember<U, Group, kOther>& other) noexcept {
    if constexpr (std::same_as<std::remove_cv_t<U>, std::remove_cv_t<T>>) {
      return other.bits();
    } else {
      if (!other.is_object()) return other.bits();
      return Decoding::encode(static_cast<T*>(other.operator->()));
    }
  }

  std::uint32_t bits_ = 0;
};

template <class T, class Group = DefaultGroup>
using Member = BasicMember<T, Group, Strength::Strong>;
template <class T, class Group = DefaultGroup>
using WeakMember = BasicMember<T, Group, Strength::Weak>;
template <class T, class Group = DefaultGroup>
using UntracedMember = BasicMember<T, Group, Strength::Untraced>;

template <class T, class Group = DefaultGroup>
class UncompressedMember {
 public:
  using element_type = T;

  constexpr UncompressedMember() noexcept = default;
  constexpr UncompressedMember(T* raw) noexcept : raw_(raw) {}  // NOLINT(google-explicit-constructor)
  template <class U, Strength kOther>
    requires std::convertible_to<U*, T*>
  UncompressedMember(const BasicMember<U, Group, kOther>& other) noexcept  // NOLINT(google-explicit-constructor)
      : raw_(other.get()) {}

  constexpr T* get() const noexcept { return raw_; }
  constexpr T* operator->() const noexcept { return raw_; }
  constexpr T& operator*() const noexcept { return *raw_; }
  constexpr operator T*() const noexcept { return raw_; }  // NOLINT(google-explicit-constructor)
  constexpr explicit operator bool() const noexcept { return raw_ != nullptr; }
  constexpr void clear() noexcept { raw_ = nullptr; }

 private:
  T* raw_ = nullptr;
};

}  // namespace tare::gc

template <class T, class Group, tare::gc::Strength kStrength>
struct std::hash<tare::gc::BasicMember<T, Group, kStrength>> {
  std::size_t operator()(const tare::gc::BasicMember<T, Group, kStrength>& member) const noexcept {
    return tare::hash_bits(member.bits());
  }
};
