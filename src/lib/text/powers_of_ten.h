// Powers of ten to 128 bits, from 10^-292 to 10^324, for shortest decimals. Reckoned by the compiler.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::text_details {

// 10^k is about (high * 2^64 + low) * 2^(floor(log2(10^k)) - 127), rounded up where it isn't exact.
struct PowerOfTen {
  std::uint64_t high;
  std::uint64_t low;
};
inline constexpr int kLeastPower = -292;
inline constexpr int kMostPower = 324;

namespace powers_details {

// An integer of enough words for 10^324, and for 2^1239 / 10^292 to 128 bits. The lowest word first.
class Large {
 public:
  constexpr explicit Large(std::size_t bit) { words_[bit / 64] = std::uint64_t{1} << bit % 64; }

  constexpr void multiply_by_ten() {
    std::uint64_t carry = 0;
    for (std::uint64_t& word : words_) {
      const Product product = Product{word} * 10 + carry;
      word = static_cast<std::uint64_t>(product);
      carry = static_cast<std::uint64_t>(product >> 64);
    }
  }
  // Rounded down; repeated calls give the same as one division rounded down.
  constexpr void divide_by_ten() {
    Product rest = 0;
    for (std::size_t i = kWords; i-- > 0;) {
      rest = rest << 64 | words_[i];
      words_[i] = static_cast<std::uint64_t>(rest / 10);
      rest %= 10;
    }
  }
  // The highest 128 bits, and one more if any lower one is set or was lost.
  constexpr PowerOfTen rounded_up(bool has_lost) const {
    std::size_t top = kWords - 1;
    while (words_[top] == 0) --top;
    const auto word = [&](std::size_t below_top) { return below_top <= top ? words_[top - below_top] : 0; };
    const int shift = std::countl_zero(word(0));
    const auto shifted = [&](std::uint64_t a, std::uint64_t b) {
      return shift == 0 ? a : a << shift | b >> (64 - shift);
    };
    PowerOfTen power{shifted(word(0), word(1)), shifted(word(1), word(2))};
    bool has_more = has_lost || word(2) << shift != 0;
    for (std::size_t below = 3; below <= top; ++below) has_more = has_more || word(below) != 0;
    if (has_more && ++power.low == 0) ++power.high;
    return power;
  }

 private:
  __extension__ using Product = unsigned __int128;
  static constexpr std::size_t kWords = 20;
  std::array<std::uint64_t, kWords> words_{};
};

constexpr std::array<PowerOfTen, kMostPower - kLeastPower + 1> powers() {
  std::array<PowerOfTen, kMostPower - kLeastPower + 1> all{};
  Large power(0);
  for (int k = 0; k <= kMostPower; ++k, power.multiply_by_ten()) {
    all[static_cast<std::size_t>(k - kLeastPower)] = power.rounded_up(false);
  }
  Large quotient(1239);
  for (int k = -1; k >= kLeastPower; --k) {
    quotient.divide_by_ten();
    all[static_cast<std::size_t>(k - kLeastPower)] = quotient.rounded_up(true);
  }
  return all;
}

}  // namespace powers_details

inline constexpr std::array<PowerOfTen, kMostPower - kLeastPower + 1> kPowersOfTen = powers_details::powers();

}  // namespace tare::inline TARE_ABI::text_details
