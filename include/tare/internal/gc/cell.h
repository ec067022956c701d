// tare/internal/gc/cell.h: the shape of the collector's memory: cells of some 80 sizes, each an object with 4 bytes
// before it.
//
// A page holds cells of one size and no metadata: the used bit and the mark bit of a cell are in tables beside the
// cage, one bit for 16 bytes. So a collection touches no dead object, reads a marked one once, and sweeps 64 KiB of
// cells by reading 64 words. Sizes are multiples of 8 up to 128 bytes and then 8 a doubling, so that at most an eighth
// of a cell is slop; the 4 bytes count: an object of 28 bytes fits a cell of 32. cppgc's 8 bytes make it 40.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Lies right before the object.
struct CellHeader {
  static constexpr std::uint32_t kTypeMask = 0xffff;          // index of its TypeInfo; 0: freed, or never used
  static constexpr std::uint32_t kInConstruction = 1u << 16;  // its constructor runs: trace() can't be called yet
  static constexpr std::uint32_t kRemembered = 1u << 17;      // old, and something was stored into it since
  std::uint32_t bits;

  std::uint32_t type() const noexcept { return bits & kTypeMask; }
  bool is_in_construction() const noexcept { return (bits & kInConstruction) != 0; }

  // A marking thread that sees the end of the construction also sees the constructor's writes.
  void publish(std::uint32_t value) noexcept { __atomic_store_n(&bits, value, __ATOMIC_RELEASE); }
  CellHeader seen() const noexcept { return {__atomic_load_n(&bits, __ATOMIC_ACQUIRE)}; }
};
static_assert(sizeof(CellHeader) == 4);

inline CellHeader& header_of(const void* object) noexcept {
  return *reinterpret_cast<CellHeader*>(reinterpret_cast<std::uintptr_t>(object) - sizeof(CellHeader));
}

namespace cell {

inline constexpr std::size_t kGranuleBytes = 8;
inline constexpr std::size_t kMarkGranuleBytes = 16;  // no two cells begin in the same 16 bytes
inline constexpr std::size_t kUnitBytes = std::size_t{64} << 10;
inline constexpr std::size_t kFirstObject = 16;  // where the first object of a page lies; its header before it

inline constexpr std::size_t kLeast = 16;
inline constexpr std::size_t kMostFine = 128;
inline constexpr std::size_t kMostInOneUnit = 2048;          // larger cells lie in pages of 4 units
inline constexpr std::size_t kMost = std::size_t{32} << 10;  // larger ones have a page of their own
inline constexpr std::size_t kLargeUnits = 4;
inline constexpr std::size_t kFineClasses = (kMostFine - kLeast) / 8 + 1;
inline constexpr std::size_t kClasses = kFineClasses + 8 * 8;

// Of an object of so many bytes, header included, rounded up to cells. bytes <= kMost.
constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= kLeast) return 0;
  if (bytes <= kMostFine) return (bytes + 7) / 8 - kLeast / 8;
  const auto log = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 128 < bytes <= 256: 7
  return kFineClasses + (log - 7) * 8 + (((bytes - 1) >> (log - 3)) & 7);
}

constexpr std::size_t bytes_of(std::size_t size_class) noexcept {
  if (size_class < kFineClasses) return kLeast + size_class * 8;
  const std::size_t coarse = size_class - kFineClasses;
  const std::size_t step = std::size_t{16} << (coarse / 8);
  return (std::size_t{128} << (coarse / 8)) + (coarse % 8 + 1) * step;
}

// The size of a cell for `object_bytes`. Objects are aligned to 8, or to 16 where the type is.
constexpr std::size_t bytes_for(std::size_t object_bytes, std::size_t alignment) noexcept {
  const std::size_t bytes = object_bytes + sizeof(CellHeader);
  return alignment > kGranuleBytes ? (bytes + 15) & ~std::size_t{15} : bytes;
}

static_assert(bytes_of(kClasses - 1) == kMost && class_of(kMost) == kClasses - 1);

}  // namespace cell
}  // namespace tare::inline TARE_ABI::gc
