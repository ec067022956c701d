// The filled blocks of a recorded program with their requested sizes: a table in the program's memory, for the
// recorder, and for snapshots, which read it from outside (SpoolHeader::content_table has its address).
//
// Two levels by address, because a hash table would miss the cache on every event where allocators reuse neighbouring
// addresses: leaves are maps of zeros, which take memory only where blocks begin (a quarter of a heap of small ones).
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/base/pointer_tag.h"
#include "trace/model/content_pattern.h"

namespace tare::trace {

class ContentTable {
 public:
  // A word a block that begins on a multiple of 16; others (of 8 bytes, in some allocators) aren't filled.
  using Word = std::atomic<std::uint32_t>;
  static constexpr std::uint64_t kUnit = 16;
  static constexpr int kLeafBits = 26;  // a leaf covers 64 MiB of addresses
  // Programs get larger addresses only if they pass one to mmap. Such blocks aren't filled.
#if defined(__aarch64__)
  static constexpr int kAddressBits = 48;
#else
  static constexpr int kAddressBits = 47;
#endif
  static constexpr std::uint64_t kLeafWords = (std::uint64_t{1} << kLeafBits) / kUnit;
  static constexpr std::uint64_t kLeaves = std::uint64_t{1} << (kAddressBits - kLeafBits);
  static constexpr std::uint64_t kBytes = kLeaves * sizeof(Word*);  // of the top level, an array of kLeaves pointers

  // `address` may have a tag.
  static constexpr bool covers(std::uint64_t address) {
    return address % kUnit == 0 && untagged(address) >> kAddressBits == 0;
  }
  static constexpr std::uint64_t leaf_of(std::uint64_t address) { return untagged(address) >> kLeafBits; }
  static constexpr std::uint64_t word_of(std::uint64_t address) { return address / kUnit % kLeafWords; }
};

// One word of the table; all zero: nothing is known of a block there.
struct ContentWord {
  static constexpr std::uint64_t kMostSlop = (std::uint64_t{1} << 29) - 1;

  ContentOrigin origin;
  std::uint32_t asked;  // 1: the program has called malloc_usable_size for the block, and may use all of it
  std::uint64_t slop;   // usable - requested

  constexpr std::uint32_t bits() const {
    return static_cast<std::uint32_t>(origin) | asked << 2 | static_cast<std::uint32_t>(slop) << 3;
  }
  static constexpr ContentWord of(std::uint32_t bits) {
    return {static_cast<ContentOrigin>(bits & 3), bits >> 2 & 1, bits >> 3};
  }
};

}  // namespace tare::trace
