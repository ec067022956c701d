// Writers into text streams: numbers, printf, back inserters, std::ostream.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include <version>
#if defined(__cpp_lib_format)
#include <format>
#endif

#include "tare/text_ostream.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

template <typename... Arguments>
std::string number(Arguments... arguments) {
  TextStream out;
  EXPECT_TRUE(out.append_number(arguments...));
  return std::string(out.view());
}

enum Unscoped { kNone, kSome = 65 };
enum UnscopedByte : unsigned char { kByte = 66 };
enum class Scoped { Value };
struct AsDouble {
  operator double() const { return 3.75; }  // NOLINT(google-explicit-constructor)
};
struct AsText {
  operator std::string_view() const { return "text"; }  // NOLINT(google-explicit-constructor)
  operator bool() const { return true; }                // NOLINT(google-explicit-constructor)
};

template <typename Value>
std::string shown(const Value& value) {
  TextStream out;
  out << value;
  return std::string(out.view());
}
template <typename Value>
concept CanBeShown = requires(TextStream& out, const Value& value) { out << value; };
template <typename Value>
concept CanBeAppended = requires(TextStream& out, const Value& value) { out.append(value); };

// All of these are converted to char where somebody lets them.
TEST(TextNumbers, WhatIsNoCharacterIsNotWrittenAsOne) {
  EXPECT_EQ(shown(kSome), "65");
  EXPECT_EQ(shown(kNone), "0");
  EXPECT_EQ(shown(kByte), "66");
  EXPECT_EQ(shown(3.5L), "3.5");
  EXPECT_EQ(shown(std::vector<bool>{true}[0]), "true");
  EXPECT_EQ(shown(std::bitset<2>(1)[1]), "false");
  std::bitset<2> bits(1);
  EXPECT_EQ(shown(bits[0]), "true");
  EXPECT_EQ(shown(std::atomic<int>(72)), "72");
  EXPECT_EQ(shown(std::atomic<bool>(true)), "true");
  EXPECT_EQ(shown(std::atomic<char>('c')), "c");
  EXPECT_EQ(shown(std::true_type()), "true");
  EXPECT_EQ(shown(std::integral_constant<int, 7>()), "7");
  EXPECT_EQ(shown(AsDouble()), "3.75");
  EXPECT_EQ(shown(AsText()), "text");
  EXPECT_EQ(shown(std::string("text")), "text");
  static_assert(!CanBeShown<Scoped> && !CanBeShown<__int128> && !CanBeShown<unsigned __int128>);
  static_assert(CanBeAppended<char> && !CanBeAppended<Unscoped> && !CanBeAppended<double> && !CanBeAppended<int>);
}

TEST(TextNumbers, Integers) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(number(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(number(std::numeric_limits<std::uint64_t>::max(), 2), std::string(64, '1'));
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min(), 2), "-1" + std::string(63, '0'));
  EXPECT_EQ(number(0xbeefU, 16), "beef");
  EXPECT_EQ(number(35, 36), "z");
  EXPECT_EQ(number(5, 1), "101") << "bases outside 2 to 36 become the nearest";
  EXPECT_EQ(number(static_cast<signed char>(-3)), "-3");
  EXPECT_EQ(number(static_cast<unsigned char>(200)), "200");
}

TEST(TextNumbers, FloatingPointReadsBack) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(0.1F), "0.1");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(-0.0), "-0");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number(-std::numeric_limits<double>::denorm_min()), "-5e-324");
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::strtod(number(value).c_str(), nullptr), value);
  }
}

TEST(TextNumbers, Fixed) {
  TextStream out;
  EXPECT_TRUE(out.append_fixed(3.14159, 2));
  EXPECT_EQ(out.view(), "3.14");
  out.reset();
  EXPECT_TRUE(out.append_fixed(-1e308, 2000));
  EXPECT_EQ(out.size(), 1 + 309 + 1 + 1074U);
  out.reset();
  EXPECT_TRUE(out.append_fixed(2.5, -1));
  EXPECT_EQ(out.view(), "2");
}

TEST(TextNumbers, AtEveryPositionInside) {
  for (std::size_t before = 0; before < 130; ++before) {
    TextStream out;
    out.append(before, ' ');
    out << std::numeric_limits<std::int64_t>::min() << 0.1 << false;
    ASSERT_EQ(out.view().substr(before), "-92233720368547758080.1false");
  }
}

TEST(TextPrint, AtEveryPositionAndLength) {
  for (std::size_t before = 0; before < 130; ++before) {
    for (int width : {0, 1, 40, 47, 48, 49, 300}) {
      TextStream out;
      out.append(before, ' ');
      ASSERT_TRUE(out.print("%*s", width, ""));
      ASSERT_EQ(out.view(), std::string(before + static_cast<std::size_t>(width), ' '));
    }
  }
}

TEST(TextInserters, BackInserterAndFmt) {
  TextStream out;
  fmt::format_to(std::back_inserter(out), "{:>60}|{:x}", "right", 255);
  EXPECT_EQ(out.view(), std::string(55, ' ') + "right|ff");
  char line[8];
  FixedTextStream fixed(line);
  fmt::format_to(std::back_inserter(fixed), "{}", 1234567890);
  EXPECT_EQ(fixed.view(), "1234567");
  EXPECT_FALSE(fixed.ok());
}

// The operations that std::format_to needs of an iterator; gcc 12 has no such header.
static_assert(std::output_iterator<std::back_insert_iterator<TextStream>, const char&>);
static_assert(std::output_iterator<std::back_insert_iterator<FixedTextStream>, const char&>);

#if defined(__cpp_lib_format)
TEST(TextInserters, BackInserterAndStdFormat) {
  TextStream out;
  std::format_to(std::back_inserter(out), "{:>60}|{:x}", "right", 255);
  EXPECT_EQ(out.view(), std::string(55, ' ') + "right|ff");
  char line[8];
  FixedTextStream fixed(line);
  std::format_to(std::back_inserter(fixed), "{}", 1234567890);
  EXPECT_EQ(fixed.view(), "1234567");
  EXPECT_FALSE(fixed.ok());
}
#endif

TEST(TextOstream, WritesThroughAndSaysWhatIsLost) {
  TextStream out;
  TextOstream stream(out);
  stream << "hex " << std::hex << std::setw(6) << std::setfill('0') << 255 << '\n' << std::string(100, 'x');
  EXPECT_EQ(out.view(), "hex 0000ff\n" + std::string(100, 'x'));
  EXPECT_TRUE(stream.good());
  char line[4];
  FixedTextStream fixed(line);
  TextOstream narrow(fixed);
  narrow << "abcdef";
  EXPECT_TRUE(narrow.bad());
  EXPECT_EQ(fixed.view(), "abc");
}

}  // namespace
}  // namespace tare
