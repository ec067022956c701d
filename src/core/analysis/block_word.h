// The word that the map of live blocks has for each: its birth, and how its shape is found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::core {

// The birth is in the high half; in the low half, two bits give the meaning of the lowest 30. A map's free slots have
// other words.
struct BlockWord {
  static constexpr std::uint32_t kPlain = 1u << 30;      // a ShapeId
  static constexpr std::uint32_t kInChain = 2u << 30;    // a number of GrowthChains
  static constexpr std::uint32_t kInherited = 3u << 30;  // a shape of the inherited set
  static constexpr std::uint32_t kIndexMask = kPlain - 1;

  static constexpr std::uint64_t of(std::uint32_t birth, std::uint32_t kind, std::uint32_t index) {
    return std::uint64_t{birth} << 32 | kind | index;
  }
  constexpr explicit BlockWord(std::uint64_t word) : bits(word) {}

  constexpr std::uint32_t birth() const { return static_cast<std::uint32_t>(bits >> 32); }
  constexpr std::uint32_t kind() const { return static_cast<std::uint32_t>(bits) & ~kIndexMask; }
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(bits) & kIndexMask; }
  constexpr bool is_plain() const { return kind() == kPlain; }
  constexpr bool is_inherited() const { return kind() == kInherited; }

  std::uint64_t bits;
};

}  // namespace tare::core
