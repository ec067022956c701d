// tare/gc/decoding.h: schemes by which 4 bytes name an object in a cage. A group of heaps has one, chosen when
// compiling.
//
//   struct ToolHeaps {                                        // a group of heaps: one cage for all of them
//     using Decoding = tare::gc::SplitDecoding<1>;            // slot 1 of 16
//     static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
//   };
//
// Groups of one slot share the cage that the first of them reserved, in which each heap has pages of its own. They must
// have one Decoding and one WriteBarrier; where they haven't, heaps of whichever comes later can't be created
// (CageError::SlotTaken). Independent libraries therefore choose slots by scheme, or use DefaultGroup.
//
// Every scheme encodes null as 0 and the sentinel (hash tables: deleted) as 1, and has two ways back:
//   decode(bits)         null for null, the sentinel's address for the sentinel; no branch
//   decode_object(bits)  of an object only, and may be cheaper for that: operator-> uses it
//
//   scheme            reach   decode                      decode_object        a step in L1, raw pointers = 1
//   SplitDecoding     32 GiB  shift, add, test, cmov      folded into access   1.5 / 1.25
//   SeedDecoding      4 GiB   sign-extend, shift, and     the same             1.8
//   SeedDecoding<,3>  16 GiB  sign-extend, shift, and     the same             1.8
//   LowDecoding       4 GiB   none (zero-extension)       none                 1.0
//
// The first is the default. The seed's scheme (the article "Pointer compression in Oilpan", 2022) is implemented
// exactly. The cage is aligned so that the bit above its offsets is set, which becomes the compressed value's sign.
// Extending it gives ones for an object and zeros for null and the sentinel; the base, whose low half is ones, masks
// the rest. The split needs no sign: where null is possible it is tested beside the addition, elsewhere there is
// nothing to test, and the bit that is saved doubles the reach. The last needs the cage below 4 GiB, as ART and HotSpot
// have it; other mappings there limit its size.
//
// `cage_bases` (tare/internal/gc/cage_bases.h) describes the base that these load. Thread-safety: as of plain values.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "tare/cage.h"
#include "tare/internal/gc/cage_bases.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// The properties of a scheme that the collector reads at run time. Bits above 1 name the address origin + ((bits &
// mask) << shift).
struct DecodingShape {
  std::uintptr_t origin = 0;
  std::uint32_t mask = 0xffff'ffff;
  int shift = 0;
  bool is_signed = false;  // objects have the highest bit set; other values are no objects

  friend bool operator==(const DecodingShape&, const DecodingShape&) = default;
};

// All schemes. kSlot: see cage_bases. kReachBytes: the largest cage. window_of() is the address that offsets count
// from for a cage that lies there.
template <std::size_t kSlot, int kShift = 1>
struct SeedDecoding {
  static_assert(kSlot < kCageSlots && kShift >= 1 && kShift <= 3);
  static constexpr std::size_t kCageSlot = kSlot;
  static constexpr std::size_t kReachBytes = std::size_t{1} << (31 + kShift);
  static constexpr bool kIsLow = false;

  static constexpr CageOptions cage_options(std::size_t size_bytes) noexcept {
    return {.size_bytes = size_bytes < kReachBytes ? size_bytes : kReachBytes,
            .alignment_bytes = 2 * kReachBytes,
            .alignment_phase_bytes = kReachBytes};
  }
  static constexpr DecodingShape shape(std::uintptr_t cage_begin) noexcept {
    return {cage_begin & ~(kReachBytes - 1), 0x7fff'ffff, kShift, true};
  }
  static constexpr std::uintptr_t base(const DecodingShape& shape) noexcept { return shape.origin | (kReachBytes - 1); }

  static std::uint32_t encode(const volatile void* raw) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(raw) >> kShift);
  }
  static void* decode(std::uint32_t bits) noexcept {
    const auto wide = static_cast<std::uintptr_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    return reinterpret_cast<void*>((wide << kShift) & cage_base<kSlot>());
  }
  static void* decode_object(std::uint32_t bits) noexcept { return decode(bits); }
  // In 8-byte granules from the origin, as in the collector's lists.
  static constexpr std::uint32_t granule(std::uint32_t bits) noexcept { return (bits & 0x7fff'ffff) >> (3 - kShift); }
};

template <std::size_t kSlot>
struct SplitDecoding {
  static_assert(kSlot < kCageSlots);
  static constexpr std::size_t kCageSlot = kSlot;
  static constexpr int kShift = 3;
  static constexpr std::size_t kReachBytes = std::size_t{1} << (32 + kShift);
  static constexpr bool kIsLow = false;

  static constexpr CageOptions cage_options(std::size_t size_bytes) noexcept {
    return {.size_bytes = size_bytes < kReachBytes ? size_bytes : kReachBytes, .alignment_bytes = kReachBytes};
  }
  static constexpr DecodingShape shape(std::uintptr_t cage_begin) noexcept {
    return {cage_begin & ~(kReachBytes - 1), 0xffff'ffff, kShift, false};
  }
  static constexpr std::uintptr_t base(const DecodingShape& shape) noexcept { return shape.origin; }

  static std::uint32_t encode(const volatile void* raw) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(raw) >> kShift);
  }
  static void* decode(std::uint32_t bits) noexcept {
    // As in CompressedPtr::get(): both compilers would rather branch around the addition, and gcc wait for the offset.
    const std::uintptr_t offset = std::uintptr_t{bits} << kShift;
    std::uintptr_t granules = bits;
#if !defined(__clang__)
    asm("" : "+r"(granules));
#endif
    std::uintptr_t address = cage_base<kSlot>() + (granules << kShift);
    asm("" : "+r"(address));
#if defined(__clang__)
    const bool is_object = __builtin_unpredictable(bits > 1);
#else
    const bool is_object = __builtin_expect_with_probability(bits > 1, true, 0.5) != 0;
#endif
    return reinterpret_cast<void*>(is_object ? address : offset);
  }
  static void* decode_object(std::uint32_t bits) noexcept {
    assert(bits > 1);
    return reinterpret_cast<void*>(cage_base<kSlot>() + (std::uintptr_t{bits} << kShift));
  }
  static constexpr std::uint32_t granule(std::uint32_t bits) noexcept { return bits; }
};

// The cage lies below 4 GiB, and the 4 bytes are the address. Cages are sought from 2 GiB downwards in size, wherever
// the program and its libraries left room; where nothing is left the first heap fails with NoAddressSpace, and the
// program may go on with a group of another scheme. The cost: the scan of the stack can't distinguish a number below 4
// GiB from a pointer. With 1 GiB of objects, 10,000 random numbers kept 2,692 of them; 15 with the default.
template <std::size_t kSlot>
struct LowDecoding {
  static_assert(kSlot < kCageSlots);
  static constexpr std::size_t kCageSlot = kSlot;
  static constexpr std::size_t kReachBytes = std::size_t{1} << 32;
  static constexpr bool kIsLow = true;

  static constexpr CageOptions cage_options(std::size_t size_bytes) noexcept {
    constexpr std::size_t kMost = std::size_t{2} << 30;
    return {.size_bytes = size_bytes < kMost ? size_bytes : kMost};
  }
  static constexpr DecodingShape shape(std::uintptr_t) noexcept { return {0, 0xffff'ffff, 0, false}; }
  static constexpr std::uintptr_t base(const DecodingShape&) noexcept { return 1; }  // nobody loads it; not "no cage"

  static std::uint32_t encode(const volatile void* raw) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(raw));
  }
  static void* decode(std::uint32_t bits) noexcept { return reinterpret_cast<void*>(std::uintptr_t{bits}); }
  static void* decode_object(std::uint32_t bits) noexcept { return decode(bits); }
  static constexpr std::uint32_t granule(std::uint32_t bits) noexcept { return bits >> 3; }
};

// The default heaps. 16 GiB of addresses, or a half, a quarter, ... if they can't be reserved.
struct DefaultGroup {
  using Decoding = SplitDecoding<0>;
  static constexpr std::size_t kCageBytes = std::size_t{16} << 30;
};

}  // namespace tare::inline TARE_ABI::gc
