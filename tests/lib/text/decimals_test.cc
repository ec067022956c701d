// Doubles written by streams beside std::to_chars, which rounds rightly and chooses the notation that C++ asks for.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "lib/support/sanitized.h"
#include "lib/text/decimals.h"
#include "lib/text/powers_of_ten.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

constexpr int kTimes = kSanitized ? 20'000 : 1'000'000;

void expect_as_to_chars(double number) {
  std::array<char, 64> expected{};
  const char* const end = std::to_chars(expected.data(), expected.data() + expected.size(), number).ptr;
  TextStream out;
  out << number;
  ASSERT_EQ(out.view(), std::string_view(expected.data(), static_cast<std::size_t>(end - expected.data())));
}

void expect_as_fixed(double number, int digits) {
  std::array<char, 1500> expected{};
  const char* const end =
      std::to_chars(expected.data(), expected.data() + expected.size(), number, std::chars_format::fixed, digits).ptr;
  TextStream out;
  out.append_fixed(number, digits);
  ASSERT_EQ(out.view(), std::string_view(expected.data(), static_cast<std::size_t>(end - expected.data())))
      << number << " with " << digits;
}

TEST(Decimals, AnyBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kTimes; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isnan(number)) continue;
    expect_as_to_chars(number);
    if (HasFatalFailure()) return;
  }
}

TEST(Decimals, NumbersOfFewDigits) {
  std::mt19937_64 random(2);
  for (int i = 0; i < kTimes; ++i) {
    const auto digits = static_cast<double>(random() % 10'000'000);
    expect_as_to_chars(digits / std::pow(10, static_cast<double>(random() % 20)));
    expect_as_to_chars(-digits * std::pow(10, static_cast<double>(random() % 20)));
    expect_as_to_chars(static_cast<double>(static_cast<std::int64_t>(random()) >> random() % 64));
    if (HasFatalFailure()) return;
  }
}

TEST(Decimals, PowersAndTheirNeighbours) {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    expect_as_to_chars(power);
    expect_as_to_chars(std::nextafter(power, 0));
    expect_as_to_chars(std::nextafter(power, std::numeric_limits<double>::infinity()));
  }
  for (int exponent = -324; exponent < 309; ++exponent) {
    const std::string text = "1e" + std::to_string(exponent);
    const double power = std::strtod(text.c_str(), nullptr);
    expect_as_to_chars(power);
    expect_as_to_chars(std::nextafter(power, 0));
    expect_as_to_chars(-std::nextafter(power, std::numeric_limits<double>::infinity()));
  }
  for (const double number : {0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 9007199254740991.0,
                              9007199254740993.0, 123456789012345680.0, 1e15, 1e16, 0.1, 1.0 / 3}) {
    expect_as_to_chars(number);
  }
  expect_as_to_chars(std::numeric_limits<double>::infinity());
  expect_as_to_chars(-std::numeric_limits<double>::infinity());
}

TEST(Decimals, FixedDigits) {
  std::mt19937_64 random(3);
  for (int i = 0; i < kTimes; ++i) {
    const int digits = static_cast<int>(random() % 11);
    expect_as_fixed(std::bit_cast<double>((random() >> 12) | (1000 + random() % 80) << 52), digits);
    expect_as_fixed(-static_cast<double>(random() % 1'000'000) / 1000, digits);
    expect_as_fixed(static_cast<double>(random() % 100'000) / 1024, digits);  // many are halfway
    if (HasFatalFailure()) return;
  }
  for (const double number : {0.0,
                              -0.0,
                              0.5,
                              1.5,
                              2.5,
                              -0.5,
                              0.05,
                              0.125,
                              0.375,
                              9.5,
                              9.995,
                              99.5,
                              999999.9999999999,
                              4503599627370495.5,
                              4503599627370496.0,
                              1e22,
                              1e300,
                              1e-5,
                              5e-324,
                              0.00048828125}) {
    for (int digits = 0; digits < 20; ++digits) expect_as_fixed(number, digits);
  }
}

// 10^27 is the last power of 64 bits' odd part: 10^27 = 5^27 * 2^27, and 5^27 < 2^63.
TEST(Decimals, PowersOfTenAreRoundedUp) {
  using text_details::kLeastPower;
  const auto power = [](int k) { return text_details::kPowersOfTen[static_cast<std::size_t>(k - kLeastPower)]; };
  EXPECT_EQ(power(0).high, 0x8000000000000000);
  EXPECT_EQ(power(0).low, 0u);
  EXPECT_EQ(power(1).high, 0xA000000000000000);
  EXPECT_EQ(power(27).high, 0xCECB8F27F4200F3A);  // 5^27 = 7450580596923828125
  EXPECT_EQ(power(27).low, 0u);
  EXPECT_EQ(power(-1).high, 0xCCCCCCCCCCCCCCCC);
  EXPECT_EQ(power(-1).low, 0xCCCCCCCCCCCCCCCD);
}

}  // namespace
}  // namespace tare
