// TextWriter::print beside the C library's snprintf.
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "lib/support/failing_malloc.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

[[gnu::format(printf, 1, 2)]] void expect_as_snprintf(const char* format, ...) {
  char expected[2000];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(expected, sizeof(expected), format, arguments);
  va_end(arguments);

  for (const std::size_t already : {0, 3, 40}) {  // in the object, and moving out of it
    TextStream out;
    out.append(already, '.');
    va_start(arguments, format);
    EXPECT_TRUE(out.vprint(format, arguments));
    va_end(arguments);
    EXPECT_EQ(out.view().substr(already), expected) << format;
  }
  for (const std::size_t room : {1, 2, 5, 9, 14}) {
    char memory[14];
    FixedTextStream out(memory, room);
    va_start(arguments, format);
    const bool is_whole = out.vprint(format, arguments);
    va_end(arguments);
    EXPECT_EQ(is_whole, std::string_view(expected).size() < room) << format;
    EXPECT_EQ(out.view(), std::string_view(expected).substr(0, out.size()));
    EXPECT_EQ(out.size() + out.lost_bytes(), std::string_view(expected).size());
  }
}

TEST(Print, Integers) {
  for (const int number : {0, 1, -1, 42, -12345, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    expect_as_snprintf("%d|%i|%5d|%-5d|%05d|%2d|", number, number, number, number, number, number);
    const auto positive = static_cast<unsigned>(number);
    expect_as_snprintf("%u|%x|%12u|%-12x|%012x|%X|%o|%#x", positive, positive, positive, positive, positive, positive,
                       positive, positive);
    expect_as_snprintf("%hhd %hd %ld %lld %zd %jd %td", static_cast<signed char>(number), static_cast<short>(number),
                       long{number}, static_cast<long long>(number), static_cast<ssize_t>(number),
                       static_cast<std::intmax_t>(number), static_cast<std::ptrdiff_t>(number));
    expect_as_snprintf("%hhx %hu %lx %llu %zu", static_cast<unsigned char>(number), static_cast<unsigned short>(number),
                       static_cast<unsigned long>(number), static_cast<unsigned long long>(number),
                       static_cast<std::size_t>(number));
    expect_as_snprintf("%+d|% d|%.3d|%8.3d|%-8.3d|%'d", number, number, number, number, number, number);
  }
}

TEST(Print, Text) {
  expect_as_snprintf("nothing to see");
  expect_as_snprintf("100%%");
  expect_as_snprintf("%s: %s", "name", "");
  expect_as_snprintf("%8s|%-8s|%.2s|%8.2s|%-8.2s|%.0s|%.9s", "name", "name", "name", "name", "name", "name", "name");
  expect_as_snprintf("%c%c%3c%-3c|", 'a', 'b', 'c', 'd');
  expect_as_snprintf("%*d %-*s %.*f", 6, 7, 8, "nine", 2, 3.14159);
  expect_as_snprintf("%2$s %1$s", "world", "hello");
  expect_as_snprintf("%ls %lc", L"wide", static_cast<wint_t>('w'));
  expect_as_snprintf("%p %s", static_cast<void*>(nullptr), "after");
  expect_as_snprintf("%s then %e", "first", 1.5);
  expect_as_snprintf("%s %1000d", "first", 1);
  expect_as_snprintf("%s", std::string(700, 'x').c_str());
  const char* volatile null = nullptr;
  TextStream out;
  EXPECT_TRUE(out.print("%s %.3s %.6s", null, null, null));  // as glibc
  EXPECT_EQ(out.view(), "(null)  (null)");
}

TEST(Print, WhatFollowsANulCharacterIsKept) {
  TextStream out;
  EXPECT_TRUE(out.print("a%cb", 0));
  EXPECT_EQ(out.view(), std::string_view("a\0b", 3));
}

TEST(Print, Doubles) {
  std::mt19937_64 random(7);
  for (const double number : {0.0, -0.0, 0.5, 1.5, 2.675, -3.14159, 1e15, 1e16, 1e100, 1e-9,
                              std::numeric_limits<double>::infinity(), std::nan("")}) {
    expect_as_snprintf("%f|%.0f|%.2f|%10.3f|%-10.1f|%010.2f|%lf|%+.1f|%g|%.12f", number, number, number, number, number,
                       number, number, number, number, number);
  }
  for (int i = 0; i < 2000; ++i) {
    expect_as_snprintf("%.2f %.6f", static_cast<double>(static_cast<std::int64_t>(random())) / 1e12,
                       static_cast<double>(random() % 1000) / 128);
  }
}

TEST(Print, DoublesHaveTheLocalesPoint) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no German locale here";
  expect_as_snprintf("%.2f", 1.5);
  std::setlocale(LC_NUMERIC, "C");
}

TEST(Print, WithoutMemoryNothingOfItIsWritten) {
  TextStream out;
  out << "before";
  {
    const testing::FailingMalloc none;
    EXPECT_FALSE(out.print("%s%s", "thirty characters and some more", "thirty characters and some more"));
  }
  EXPECT_EQ(out.view(), "before");
  EXPECT_EQ(out.loss(), TextLoss::OutOfMemory);
}

TEST(Print, AFormatInErrorWritesNothing) {
  TextStream out;
  EXPECT_FALSE(out.print("%d %ls", 1, L"\xD800"));  // no character of the C locale
  EXPECT_EQ(out.view(), "");
  EXPECT_TRUE(out.ok());
  int written = 0;
  EXPECT_TRUE(out.print("%s%n%d", "four", &written, 5));
  EXPECT_EQ(written, 4);
}

}  // namespace
}  // namespace tare
