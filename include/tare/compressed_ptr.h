// tare/compressed_ptr.h: CompressedPtr<T, Tag>, a pointer into a cage that takes 4 bytes instead of 8.
//
//   struct SceneCage {                                     // the tag names a cage; it has no objects
//     static constexpr std::size_t kGranuleBytes = 8;      // what objects are aligned to: the pointers reach 32 GiB
//   };
//   template <class T>
//   using ScenePtr = tare::CompressedPtr<T, SceneCage>;
//
//   struct Node { ScenePtr<Node> parent, first, next; std::uint32_t kind; };   // 16 bytes; 32 with plain pointers
//
//   tare::CageResult<tare::Cage> cage = tare::Cage::reserve(tare::cage_options<SceneCage>());
//   if (!cage || tare::CageBase<SceneCage>::bind(cage.value()) != tare::CageError::None) return give_up();
//
// A value is the distance from the start of a window, in granules. The window is as large as 32 bits of granules reach
// and aligned to its size, so that compressing is one shift: the bits above fall off. 0 is null and 1 is the sentinel
// (of hash tables: deleted), for which no object can lie there. Compressed pointers are copied, compared, ordered,
// hashed and tested without being decoded.
//
// The cost of decoding, beside the load of the 4 bytes:
//   p->x, *p   no test at all: base + value * granule, which x86 and arm64 fold into the access of x
//   p.get()    null and the sentinel come out as such: compare and conditional move, no branch
// Where performance counts, keep `T* raw = p.get()` over a loop's body, and prefer p->next->kind to p.get()->....
//
// The idea and the requirements are of "Pointer compression in Oilpan" (2022). Its scheme extends a sign bit and masks,
// three dependent steps for every access, and reaches half as far, because a bit marks the value as a pointer. Here the
// test is a conditional move beside the addition, and gone where null is not possible.
//
// Thread-safety: as that of a plain pointer; std::atomic<CompressedPtr<...>> is lock-free. Never throws or allocates.
//
// Limits, all unchecked where NDEBUG is defined (assertions otherwise):
//   - a pointer that is compressed, or compared with a compressed one, is null, the sentinel, or lies in the tag's
//     window at a multiple of the granule; another would come back, or compare, as something else;
//   - p->x and *p need an object: null or the sentinel would yield addresses in the cage's guard, which faults;
//   - the base is taken for a constant: CageBase::bind comes before the first use of any pointer of the tag, in a
//     function of its own that neither makes nor reads any.
#pragma once

#include <bit>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "tare/cage.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// A tag has kGranuleBytes, a power of two. It may have `static constexpr std::uintptr_t kBase`, a multiple of
// kReachBytes, if the window is known when compiling (CageOptions::fixed_base puts a cage there): then there is no base
// to load. Window 0, the first addresses of the process, needs nothing to be added either.
template <class Tag>
concept CageTag = requires {
  { Tag::kGranuleBytes } -> std::convertible_to<std::size_t>;
} && std::has_single_bit(std::size_t{Tag::kGranuleBytes}) && Tag::kGranuleBytes <= 4096;

// How far compressed pointers reach: 4 GiB for granules of 1 byte, 32 GiB for 8.
template <CageTag Tag>
inline constexpr std::size_t kReachBytes = std::size_t{Tag::kGranuleBytes} << 32;

// Options of the largest cage that pointers with this tag can use; take less by setting size_bytes.
template <CageTag Tag>
constexpr CageOptions cage_options() noexcept {
  return {.size_bytes = kReachBytes<Tag>, .alignment_bytes = kReachBytes<Tag>};
}

// Where the window of a tag begins. One for the whole program; in a program of several shared objects built with hidden
// visibility, declare the tag with default visibility, or each object has its own to bind.
template <CageTag Tag>
class CageBase {
 public:
  static constexpr bool kIsConstant = requires { Tag::kBase; };

  // Points the tag's window to where the cage is. Any number of cages may lie in one window. Error: OutOfReach, if the
  // cage lies across the ends of a window, or in another than was bound before (or is Tag::kBase), or if an object
  // could lie where null and the sentinel point. Not while other threads use pointers of this tag.
  static CageError bind(const Cage& cage) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(cage.base());
    if (begin == 0) return CageError::OutOfReach;
    const std::uintptr_t window = begin & ~(kReachBytes<Tag> - 1);
    const std::size_t reserved_granules = 2;
    if (begin + cage.size_bytes() - window > kReachBytes<Tag>) return CageError::OutOfReach;
    if (begin + cage.guard_bytes() - window < reserved_granules * Tag::kGranuleBytes) return CageError::OutOfReach;
    if constexpr (kIsConstant) {
      static_assert(Tag::kBase % kReachBytes<Tag> == 0);
      return window == Tag::kBase ? CageError::None : CageError::OutOfReach;
    } else {
      if (base_ != 0 && base_ != window) return CageError::OutOfReach;
      base_ = window;
      return CageError::None;
    }
  }

  // Unbinds the window, after the last pointer of the tag is gone: for tests, and for cages that are replaced.
  static void unbind() noexcept {
    if constexpr (!kIsConstant) base_ = 0;
  }

  // The compiler may keep the result over any call, as for a constant: that is the meaning of the attribute.
  [[gnu::const, gnu::always_inline]] static std::uintptr_t get() noexcept {
    if constexpr (kIsConstant) {
      return Tag::kBase;
    } else {
      return base_;
    }
  }

 private:
  static inline std::uintptr_t base_ = 0;
};

// Compares equal to no object and not to null; of every compressed pointer type. As a plain pointer it is the address 1
// * granule, which must not be dereferenced.
struct SentinelPtr {};
inline constexpr SentinelPtr kSentinelPtr{};

namespace compressed_ptr_details {

// True if every Derived has its Base at the same distance: not if the base is virtual, for then there's no cast back.
template <class Base, class Derived>
concept HasFixedPlaceIn = std::is_void_v<Base> || std::is_void_v<Derived> ||
                          requires(Base* base) { static_cast<const volatile Derived*>(base); };

// How far into a Derived its Base lies. Compilers make a number of this, nearly always 0.
template <class Base, class Derived>
inline std::ptrdiff_t place_of() noexcept {
  if constexpr (std::is_void_v<Base> || std::is_void_v<Derived>) {
    return 0;
  } else {
    constexpr std::uintptr_t kSomewhere = 1 << 20;  // any address but null
    const volatile Base* base = reinterpret_cast<const volatile Derived*>(kSomewhere);
    return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(base) - kSomewhere);
  }
}

template <CageTag Tag>
inline constexpr int kGranuleShift = std::countr_zero(std::size_t{Tag::kGranuleBytes});

// The value of a pointer so many bytes further.
template <CageTag Tag>
std::uint32_t moved(std::uint32_t bits, std::ptrdiff_t bytes) noexcept {
  assert(bytes % static_cast<std::ptrdiff_t>(Tag::kGranuleBytes) == 0);
  return bits + static_cast<std::uint32_t>(bytes >> kGranuleShift<Tag>);
}

}  // namespace compressed_ptr_details

template <class T, CageTag Tag>
class CompressedPtr {
 public:
  using element_type = T;

  constexpr CompressedPtr() noexcept = default;                            // null
  constexpr CompressedPtr(std::nullptr_t) noexcept {}                      // NOLINT(google-explicit-constructor)
  constexpr CompressedPtr(SentinelPtr) noexcept : bits_(kSentinelBits) {}  // NOLINT(google-explicit-constructor)
  CompressedPtr(T* raw) noexcept : bits_(compress(raw)) {}                 // NOLINT(google-explicit-constructor)

  // From a derived class, as with plain pointers: where the base class lies further in, the value is adjusted. It must
  // lie at a multiple of the granule.
  template <class U>
    requires(!std::same_as<U, T> && std::convertible_to<U*, T*>)
  CompressedPtr(CompressedPtr<U, Tag> other) noexcept  // NOLINT(google-explicit-constructor)
      : bits_(convert(other)) {}

  // The plain pointer: null for null, the sentinel's address for the sentinel. No branch.
  T* get() const noexcept {
    const std::uintptr_t offset = std::uintptr_t{bits_} << kShift;
    if constexpr (CageBase<Tag>::kIsConstant) {
      if (CageBase<Tag>::get() == 0) return reinterpret_cast<T*>(offset);
    }
    // Both compilers would branch around the addition, and clang even if the branch is marked as unpredictable. The
    // second asm forces the sum in any case, the first keeps gcc from waiting for `offset` before it adds. Neither is
    // an instruction. A step in the first-level cache takes 1.5 times a plain pointer's; 1.8 without.
    std::uintptr_t granules = bits_;
#if !defined(__clang__)
    asm("" : "+r"(granules));
#endif
    std::uintptr_t address = CageBase<Tag>::get() + (granules << kShift);
    asm("" : "+r"(address));
    return reinterpret_cast<T*>(is_object_unpredictably() ? address : offset);
  }

  // Of an object only: neither null nor the sentinel.
  T* operator->() const noexcept { return object(); }
  std::add_lvalue_reference_t<T> operator*() const noexcept
    requires(!std::is_void_v<T>)
  {
    return *object();
  }

  // False for null only, as with plain pointers: the sentinel is true.
  constexpr explicit operator bool() const noexcept { return bits_ != 0; }
  constexpr bool is_sentinel() const noexcept { return bits_ == kSentinelBits; }
  constexpr bool is_object() const noexcept { return bits_ > kSentinelBits; }

  // The 4 bytes, for storing elsewhere: 0 null, 1 sentinel, else granules from the window's start.
  constexpr std::uint32_t bits() const noexcept { return bits_; }
  static constexpr CompressedPtr from_bits(std::uint32_t bits) noexcept {
    CompressedPtr made;
    made.bits_ = bits;
    return made;
  }

  friend constexpr bool operator==(CompressedPtr a, CompressedPtr b) noexcept { return a.bits_ == b.bits_; }
  friend constexpr bool operator==(CompressedPtr a, std::nullptr_t) noexcept { return a.bits_ == 0; }
  friend constexpr bool operator==(CompressedPtr a, SentinelPtr) noexcept { return a.bits_ == kSentinelBits; }
  // Compresses the plain one, which is cheaper than to decode the other.
  friend bool operator==(CompressedPtr a, T* b) noexcept { return a.bits_ == compress(b); }

  // By address: null, then the sentinel, then objects as they lie in the window.
  friend constexpr std::strong_ordering operator<=>(CompressedPtr a, CompressedPtr b) noexcept {
    return a.bits_ <=> b.bits_;
  }

 private:
  template <class U, CageTag OtherTag>
  friend class CompressedPtr;

  static constexpr int kShift = compressed_ptr_details::kGranuleShift<Tag>;
  static constexpr std::uint32_t kSentinelBits = 1;

  T* object() const noexcept {
    assert(is_object());
    return reinterpret_cast<T*>(CageBase<Tag>::get() + (std::uintptr_t{bits_} << kShift));
  }

  bool is_object_unpredictably() const noexcept {
#if defined(__clang__)
    return __builtin_unpredictable(is_object());
#else
    return __builtin_expect_with_probability(is_object(), true, 0.5) != 0;
#endif
  }

  static std::uint32_t compress(const volatile void* raw) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(raw);
    assert(address % Tag::kGranuleBytes == 0);
    assert(address <= Tag::kGranuleBytes || address - CageBase<Tag>::get() < kReachBytes<Tag>);
    return static_cast<std::uint32_t>(address >> kShift);
  }

  template <class U>
  static std::uint32_t convert(CompressedPtr<U, Tag> other) noexcept {
    if (!other.is_object()) return other.bits_;
    if constexpr (compressed_ptr_details::HasFixedPlaceIn<T, U>) {
      return compressed_ptr_details::moved<Tag>(other.bits_, compressed_ptr_details::place_of<T, U>());
    } else {
      return compress(static_cast<T*>(other.object()));  // a virtual base: its place is in the object
    }
  }

  std::uint32_t bits_ = 0;
};

// Down, from a base class, as static_cast does with plain pointers; keeps null and the sentinel.
template <class To, class From, CageTag Tag>
CompressedPtr<To, Tag> static_pointer_cast(CompressedPtr<From, Tag> from) noexcept {
  static_assert(requires(From* plain) { static_cast<To*>(plain); });
  if constexpr (std::convertible_to<From*, To*>) {
    return from;
  } else {
    if (!from.is_object()) return CompressedPtr<To, Tag>::from_bits(from.bits());
    return CompressedPtr<To, Tag>::from_bits(
        compressed_ptr_details::moved<Tag>(from.bits(), -compressed_ptr_details::place_of<From, To>()));
  }
}

// The hash of a pointer without the cage's base, which is the same for all: 32 bits are mixed instead of 64.
// Fibonacci multiplication collects the differences in the high bits; tables of 2^k slots use the low bits.
constexpr std::size_t hash_bits(std::uint32_t bits) noexcept {
  const std::uint64_t product = bits * std::uint64_t{0x9E3779B97F4A7C15};
  return static_cast<std::size_t>(product ^ (product >> 32));
}

}  // namespace tare::inline TARE_ABI

template <class T, class Tag>
struct std::hash<tare::CompressedPtr<T, Tag>> {
  std::size_t operator()(tare::CompressedPtr<T, Tag> pointer) const noexcept { return tare::hash_bits(pointer.bits()); }
};
