// Which of an event block's numbered blocks live: two levels of bits, so that the next older one is found in a few
// instructions, and a block that dies touches no other's memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tare::trace {

class LivingBlocks {
 public:
  static constexpr std::uint32_t kMost = 1 << 17;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  void clear() {
    words_.fill(0);
    summary_.fill(0);
  }
  void add(std::uint32_t block) {
    words_[block / 64] |= bit(block);
    summary_[block / 4096] |= bit(block / 64);
  }
  void remove(std::uint32_t block) {
    if ((words_[block / 64] &= ~bit(block)) == 0) summary_[block / 4096] &= ~bit(block / 64);
  }
  bool has(std::uint32_t block) const { return (words_[block / 64] & bit(block)) != 0; }

  // How many living numbers are above `block` and below `end`, at most `most`.
  std::uint32_t count_above(std::uint32_t block, std::uint32_t end, std::uint32_t most) const {
    const std::uint32_t last = block / 64;
    const std::uint64_t above = ~std::uint64_t{1} << block % 64;
    std::uint32_t word = (end - 1) / 64;
    std::uint32_t count = 0;
    while (word > last && count < most) {
      count += ones(words_[word]);
      // the next lower word that isn't empty
      const std::uint64_t here = summary_[word / 64] & (bit(word) - 1);
      if (here == 0 && word < 64) return std::min(count, most);
      word = here != 0 ? word / 64 * 64 + highest(here) : word / 64 * 64 - 1;
    }
    if (word == last) count += ones(words_[last] & above);
    return std::min(count, most);
  }

  // The greatest living number below `block`, which is at most kMost.
  std::uint32_t older(std::uint32_t block) const {
    if (block % 64 != 0) {
      if (const std::uint64_t here = words_[block / 64] & (bit(block) - 1)) return block / 64 * 64 + highest(here);
    }
    std::uint32_t word = block / 64;
    if (word % 64 != 0) {
      if (const std::uint64_t here = summary_[word / 64] & (bit(word) - 1))
        return last_of(word / 64 * 64 + highest(here));
    }
    for (std::uint32_t group = word / 64; group-- > 0;) {
      if (summary_[group] != 0) return last_of(group * 64 + highest(summary_[group]));
    }
    return kNone;
  }

 private:
  static constexpr std::uint64_t bit(std::uint32_t number) { return std::uint64_t{1} << number % 64; }
  // Not std::popcount, which is a call on processors of which nothing is known.
  static std::uint32_t ones(std::uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return static_cast<std::uint32_t>(bits * 0x0101010101010101 >> 56);
  }
  static std::uint32_t highest(std::uint64_t bits) { return 63 - static_cast<std::uint32_t>(std::countl_zero(bits)); }
  std::uint32_t last_of(std::uint32_t word) const { return word * 64 + highest(words_[word]); }

  std::array<std::uint64_t, kMost / 64> words_{};
  std::array<std::uint64_t, kMost / 4096> summary_{};  // which words have a bit
};

}  // namespace tare::trace
