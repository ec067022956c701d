// A pointer's address without the bits that the processor ignores.
#pragma once

#include <cstdint>

namespace tare::trace {

// On aarch64 the top byte of a pointer may hold anything. Allocators that check accesses store a tag there: glibc with
// glibc.mem.tagging, Scudo. Addresses in events have no tag.
#if defined(__aarch64__)
inline constexpr std::uint64_t kPointerBits = ~std::uint64_t{0} >> 8;
#else
inline constexpr std::uint64_t kPointerBits = ~std::uint64_t{0};
#endif

constexpr std::uint64_t untagged(std::uint64_t pointer) { return pointer & kPointerBits; }

}  // namespace tare::trace
