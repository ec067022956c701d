// Replay's sums for one shape (stack, entry point, sizes, weight): one cache line, indexed by ShapeId.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "trace/model/event.h"
#include "trace/model/process_info.h"

namespace tare::core {

// A user-space address has 47 bits, so no block is larger; a damaged trace may claim one.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 47;

// Bytes that the allocator puts before each block, beyond malloc_usable_size. glibc: 8, or 16 if the block is a mapping
// of its own. Its chunks are multiples of 16, so the usable size decides which (16k + 8, or 16k). musl: 4, or 20 if the
// block is a mapping of its own, as those larger than the largest slot are. jemalloc, mimalloc, tcmalloc and pymalloc
// keep their metadata elsewhere.
constexpr std::uint64_t header_bytes(trace::AllocatorKind allocator, trace::AllocApi api, std::uint64_t usable_bytes) {
  if (trace::is_foreign(api)) return 0;
  if (allocator == trace::AllocatorKind::Musl) return usable_bytes <= 131'052 ? 4 : 20;
  if (allocator != trace::AllocatorKind::Glibc) return 0;
  return usable_bytes % 16 == 8 ? 8 : 16;
}
inline std::uint64_t header_bytes(trace::AllocatorKind allocator, const trace::Shape& shape) {
  return header_bytes(allocator, shape.api, shape.usable_bytes);
}

// Bytes from the block's start on that are its own, and no other block's: musl may start a block later in its slot.
inline std::uint64_t own_bytes(trace::AllocatorKind allocator, const trace::Shape& shape) {
  return std::min(allocator == trace::AllocatorKind::Musl ? shape.requested_bytes : shape.usable_bytes, kMostBytes);
}

// Blocks ended within so many allocations of their birth; the last class is everything later.
inline constexpr std::uint32_t kAgeLimits[] = {16, 64, 256, 65536};
inline constexpr std::size_t kAgeClasses = 5;
// By the number of bits of age - 1: limits are powers of two. Four comparisons were 16 of a free's 130 instructions.
inline constexpr auto kAgeClassOfBits = [] {
  std::array<std::uint8_t, 33> classes{};
  for (std::uint32_t bits = 0; bits < classes.size(); ++bits) {
    for (const std::uint32_t limit : kAgeLimits) {
      classes[bits] = static_cast<std::uint8_t>(classes[bits] + (std::uint64_t{1} << bits > limit));
    }
  }
  return classes;
}();
constexpr std::size_t age_class(std::uint32_t age) {
  static_assert(std::ranges::all_of(kAgeLimits, [](std::uint32_t limit) { return std::has_single_bit(limit); }));
  return kAgeClassOfBits[static_cast<std::size_t>(std::bit_width(age - (age != 0)))];
}

// Sums are in units of 1/4096 with the weight multiplied in (suffix _q), so that adding and removing blocks cancels
// exactly also where weights are fractions. 2^63 / 4096 leaves room for 2 PiB live.
inline constexpr int kFractionBits = 12;
inline constexpr double kFraction = 1 << kFractionBits;

// Lifetimes are summed in 256 ticks (0.1 us): in ticks, ten million blocks of one shape would overflow 64 bits in 13
// min.
inline constexpr int kAgeShift = 8;

// The peak is found without ever looking at all shapes: when gross begins to fall from a new maximum, the replay's
// epoch is raised, and a shape that is about to change while its own epoch is older first saves `live` as its count at
// that maximum.
struct alignas(64) ShapeSums {
  std::uint64_t requested_q = 0;  // of one block
  std::uint64_t usable_q = 0;
  std::uint64_t gross_q = 0;
  std::uint32_t live = 0;
  std::uint32_t epoch = 0;
  std::uint64_t age_sum = 0;              // of ended blocks; minus the births of live ones, modulo 2^64
  std::uint32_t ended[kAgeClasses] = {};  // modulo 2^32; see ShapeBook::count_ended
  trace::StackId stack{};
};
static_assert(sizeof(ShapeSums) == 64);

}  // namespace tare::core
