// The encoding of a program's own reports (tare/reporter.h) in the spool's words. spool_event.h lists the kinds.
#pragma once

#include <cstdint>

#include "trace/spool/spool_layout.h"

namespace tare::trace {

// The longest name or path; the recorder cuts longer ones.
inline constexpr std::uint32_t kMaxNameBytes = 4000;
inline constexpr std::uint32_t kMaxNames = 1 << 16;

// Word 0 of Report and PoolCreate, above the stamp's flag: the name as a place in the string pool.
struct NamedWord {
  static constexpr std::uint64_t kOnAlloc = 1u << 6;
  static constexpr int kOffsetShift = 8;   // 24 bits
  static constexpr int kLengthShift = 32;  // 16 bits
  static_assert(kMaxStringBytes <= 1 << 24 && kMaxNameBytes < 1 << 16);

  static constexpr std::uint64_t of(StringRef name) {
    return std::uint64_t{name.offset} << kOffsetShift | std::uint64_t{name.length} << kLengthShift;
  }
  static constexpr StringRef name(std::uint64_t word0) {
    return {static_cast<std::uint32_t>(word0 >> kOffsetShift & 0xffffff),
            static_cast<std::uint32_t>(word0 >> kLengthShift & 0xffff)};
  }
};

// Word 0 of Holders: from now on more than one holds the block.
inline constexpr std::uint64_t kSeveralHolders = 1u << 6;

// A pool's number, from 1, stands above the 48 bits of an address: also in decoded events.
inline constexpr int kPoolShift = 48;
inline constexpr std::uint32_t kMaxPools = 0xffff;
constexpr std::uint64_t pool_word(std::uint32_t pool, std::uint64_t address) {
  return (address & ((std::uint64_t{1} << kPoolShift) - 1)) | std::uint64_t{pool} << kPoolShift;
}
constexpr std::uint32_t pool_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> kPoolShift); }
constexpr std::uint64_t pool_address(std::uint64_t word) { return word & ((std::uint64_t{1} << kPoolShift) - 1); }

}  // namespace tare::trace
