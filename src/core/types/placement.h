// Where a compiler puts fields: the rules of the System V ABI for x86-64 and of the Itanium C++ ABI, as far as an order
// of fields decides.
//
// The result is verified for each type: place() must reproduce the real offsets for the real order. Only then are its
// results for other orders used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tare::core {

inline std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) {
  return unit <= 1 ? n : (n + unit - 1) / unit * unit;
}

// One thing to place. Sizes are the bytes that following parts can't use: a base whose tail padding is reused has less
// than sizeof.
struct Part {
  std::uint64_t size_bits = 0;
  std::uint32_t align_bytes = 1;
  std::uint64_t unit_bits = 0;  // bit-fields: size of the declared type; 0: no bit-field
  enum class Place : std::uint8_t { Free, First, Last } place = Place::Free;  // First and Last stay in their order
};

struct VirtualPart {
  std::uint64_t size_bytes = 0;
  std::uint32_t align_bytes = 1;
};

// Other facts that decide a type's size.
struct Surroundings {
  std::uint32_t least_align_bytes = 1;     // alignas on the type, or alignments that no part shows
  std::uint64_t least_bytes = 0;           // an empty class of C++ has 1
  std::vector<VirtualPart> virtual_bases;  // put behind everything else
};

struct Placement {
  std::vector<std::uint64_t> offsets_bits;  // by part, not by place
  std::uint64_t data_bytes = 0;             // without tail padding and virtual bases
  std::uint64_t size_bytes = 0;
  std::uint32_t align_bytes = 1;
};

// `order` has each index of `parts` once. Sizes and alignments of hostile files saturate instead of overflowing.
Placement place(std::span<const Part> parts, std::span<const std::uint32_t> order, const Surroundings& around);

// Only the size: allocates nothing.
std::uint64_t placed_bytes(std::span<const Part> parts, std::span<const std::uint32_t> order,
                           const Surroundings& around);

// 0, 1, 2, ... n-1.
std::vector<std::uint32_t> order_as_is(std::size_t n);

}  // namespace tare::core
