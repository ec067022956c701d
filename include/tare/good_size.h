// tare/good_size.h: the size that malloc gives for the price of n bytes, measured from the allocator that the program
// runs on.
//
// Allocators round a request up to the next of their size classes; the bytes between are paid for and lost. Code that
// can choose a size (a growing buffer, an arena's chunk, a header with data behind it) requests all of the class:
//
//   std::size_t bytes = tare::good_size(5000);                     // 5000 on glibc is 5000, on jemalloc 5120
//   Chunk* chunk = static_cast<Chunk*>(std::malloc(bytes));        // costs the same and holds more
//   std::size_t payload = tare::capacity_for(1024, sizeof(Chunk)); // >= 1024: what fits behind a header
//
// No constant is right everywhere: a power of two plus an 8-byte header costs 25 % more than the power of two on
// jemalloc and its kin, where on glibc, which has that header itself, it is the power of two that wastes 8 bytes; and
// Google's TCMalloc has no class of 48. That lesson is from the posts on "clownshoes" in Firefox (2011), and from
// folly, whose built-in table is jemalloc's and wastes 6 % on glibc.
//
// Always request the size you mean to use: bytes beyond a request aren't the caller's even if malloc_usable_size shows
// them (sanitizers and hardened allocators check). That's why these functions come before malloc.
//
// Sizes are bytes of plain malloc, with malloc's alignment. The first call allocates a few blocks to measure, and frees
// them; later calls cost some nanoseconds and allocate nothing, unless the source is Measured and the size is new. Any
// thread may call at any time, before main too. To reckon with an allocator that isn't running, see
// tare/size_classes.h.
#pragma once

#include <cstddef>
#include <string_view>

#include "tare/internal/export.h"

#include "tare/size_classes.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// The source of good_size(n). Each was checked against malloc_usable_size before it was trusted, since a program may
// link an allocator's functions and run its malloc from elsewhere.
enum class GoodSizeSource {
  Nallocx,         // jemalloc, Google's TCMalloc
  MiGoodSize,      // mimalloc
  TcNallocx,       // gperftools
  MallocGoodSize,  // mozjemalloc
  GlibcFormula,    // glibc, by size_models::glibc
  ScudoTable,      // Scudo hides its slop: size_models::scudo_linux
  Measured,        // any other: malloc_usable_size of a block of n bytes, remembered by class
  Nothing,         // malloc_usable_size returns n for every n (sanitizers): good_size(n) is n
};

// The largest request that this program's malloc serves at the price of n bytes: at least n. A size that malloc can't
// serve comes back as it is. 0 counts as 1, for malloc(0) takes a block too.
[[nodiscard]] TARE_API std::size_t good_size(std::size_t n) noexcept;

// How many bytes fit behind a header of `header_bytes` in the block that header and `payload_bytes` need anyway: at
// least payload_bytes. Request the result plus the header from malloc. `payload_bytes` as it is where the sum
// overflows: check as for any sum, e.g. by comparing payload_bytes with kLargestRequest first.
[[nodiscard]] inline std::size_t capacity_for(std::size_t payload_bytes, std::size_t header_bytes) noexcept {
  if (payload_bytes > kLargestRequest || header_bytes > kLargestRequest - payload_bytes) return payload_bytes;
  return good_size(payload_bytes + header_bytes) - header_bytes;
}

// The same in elements of `element_bytes` (> 0): at least `count`.
[[nodiscard]] inline std::size_t capacity_for_elements(std::size_t count, std::size_t element_bytes,
                                                       std::size_t header_bytes = 0) noexcept {
  if (count > kLargestRequest / element_bytes) return count;
  return capacity_for(count * element_bytes, header_bytes) / element_bytes;
}

// The source in this program, and its name for logs ("nallocx", "glibc_formula"...).
[[nodiscard]] TARE_API GoodSizeSource good_size_source() noexcept;
[[nodiscard]] TARE_API std::string_view name_of(GoodSizeSource source) noexcept;

}  // namespace tare::inline TARE_ABI
