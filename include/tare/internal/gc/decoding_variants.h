// tare/internal/gc/decoding_variants.h: rejected schemes, kept so that the bench and the tests can compare them.
//
// ThreadBaseDecoding: the seed's scheme with a base for each thread, which would allow each its own cage. Its first
// prototype cost Chrome 15 % on Speedometer: the base's address must be found before each load of it, by a call where
// the code may be in a library that is opened at run time.
//
// ShiftlessDecoding: a cage of 2 GiB whose lowest address has bit 31 set, so that truncating encodes, and decoding
// sign-extends and masks. One step less than the seed's; withdrawn there for lack of addresses in rare programs.
//
// Source: "Pointer compression in Oilpan" (2022). As tare/gc/decoding.h otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/gc/decoding.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Lets the calling thread use Members of the group; heaps of it do so for the thread that makes them.
template <std::size_t kSlot>
struct ThreadBaseDecoding : SeedDecoding<kSlot, 1> {
  static void enter_thread() noexcept { thread_base = cage_base<kSlot>(); }

  static void* decode(std::uint32_t bits) noexcept {
    const auto wide = static_cast<std::uintptr_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    return reinterpret_cast<void*>((wide << 1) & thread_base);
  }
  static void* decode_object(std::uint32_t bits) noexcept { return decode(bits); }

 private:
  static inline thread_local constinit std::uintptr_t thread_base = 0;
};

template <std::size_t kSlot>
struct ShiftlessDecoding {
  static_assert(kSlot < kCageSlots);
  static constexpr std::size_t kCageSlot = kSlot;
  static constexpr std::size_t kReachBytes = std::size_t{1} << 31;
  static constexpr bool kIsLow = false;

  static constexpr CageOptions cage_options(std::size_t size_bytes) noexcept {
    return {.size_bytes = size_bytes < kReachBytes ? size_bytes : kReachBytes,
            .alignment_bytes = 2 * kReachBytes,
            .alignment_phase_bytes = kReachBytes};
  }
  static constexpr DecodingShape shape(std::uintptr_t cage_begin) noexcept {
    return {cage_begin & ~(kReachBytes - 1), 0x7fff'ffff, 0, true};
  }
  static constexpr std::uintptr_t base(const DecodingShape& shape) noexcept { return shape.origin | (kReachBytes - 1); }

  static std::uint32_t encode(const volatile void* raw) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(raw));
  }
  static void* decode(std::uint32_t bits) noexcept {
    const auto wide = static_cast<std::uintptr_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    return reinterpret_cast<void*>(wide & cage_base<kSlot>());
  }
  static void* decode_object(std::uint32_t bits) noexcept { return decode(bits); }
  static constexpr std::uint32_t granule(std::uint32_t bits) noexcept { return (bits & 0x7fff'ffff) >> 3; }
};

}  // namespace tare::inline TARE_ABI::gc
