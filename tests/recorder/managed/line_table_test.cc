// Lines of instructions against what each version of CPython says itself (dis.findlinestarts, co_lines).
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/line_table.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tare::recorder {
namespace {

using Starts = std::vector<std::pair<int, std::uint32_t>>;  // instruction, line from there on

// Of one function that begins in line 10, with a comprehension, 200 empty lines, a loop and a try statement.
void expect_lines(LineFormat format, const std::vector<std::uint8_t>& table, const Starts& starts, int end) {
  std::size_t at = 0;
  for (int instruction = 0; instruction < end; instruction += 2) {
    while (at + 1 < starts.size() && starts[at + 1].first <= instruction) ++at;
    EXPECT_EQ(line_of(format, table.data(), table.size(), 10, instruction), starts[at].second) << instruction;
  }
  EXPECT_EQ(line_of(format, table.data(), table.size(), 10, -2), 10u) << "before the first instruction";
}

TEST(LineTable, LineNumbers) {
  expect_lines(LineFormat::LineNumbers,
               {0x00, 0x02, 0x06, 0x02, 0x02, 0xfe, 0x06, 0x7f, 0x00, 0x4d, 0x04, 0x01, 0x02, 0x01, 0x02, 0x01,
                0x02, 0xfe, 0x04, 0x03, 0x04, 0x01, 0x02, 0x01, 0x02, 0x01, 0x02, 0xff, 0x06, 0x03, 0x0e, 0x01},
               {{0, 12},
                {6, 14},
                {8, 12},
                {14, 216},
                {18, 217},
                {20, 218},
                {22, 219},
                {24, 217},
                {28, 220},
                {32, 221},
                {34, 222},
                {36, 223},
                {38, 222},
                {44, 225},
                {58, 226}},
               62);
}

TEST(LineTable, LineRanges) {
  expect_lines(LineFormat::LineRanges,
               {0x06, 0x02, 0x02, 0x02, 0x06, 0xfe, 0x00, 0x7f, 0x04, 0x4d, 0x02, 0x01, 0x02, 0x01, 0x02, 0x01, 0x04,
                0xfe, 0x04, 0x03, 0x02, 0x01, 0x02, 0x01, 0x02, 0x01, 0x06, 0xff, 0x0c, 0x03, 0x04, 0xfb, 0x04, 0x06},
               {{0, 12},
                {6, 14},
                {8, 12},
                {14, 216},
                {18, 217},
                {20, 218},
                {22, 219},
                {24, 217},
                {28, 220},
                {32, 221},
                {34, 222},
                {36, 223},
                {38, 222},
                {44, 225},
                {56, 220},
                {60, 226}},
               64);
}

TEST(LineTable, Locations) {
  expect_lines(LineFormat::Locations,
               {0x80, 0x00, 0xf0, 0x04, 0x03, 0x09, 0x06, 0xf0, 0x00, 0x03, 0x09, 0x06, 0xe0, 0x11, 0x12, 0xf0, 0x05,
                0x03, 0x09, 0x06, 0xf1, 0x00, 0x03, 0x09, 0x06, 0xf4, 0x00, 0x03, 0x09, 0x06, 0x80, 0x41, 0xf0, 0x58,
                0x06, 0x00, 0x08, 0x09, 0xf0, 0x00, 0x03, 0x05, 0x0f, 0xdd, 0x0c, 0x0d, 0xd8, 0x0c, 0x0d, 0xd8, 0x0c,
                0x0d, 0xf1, 0x05, 0x02, 0x0d, 0x0f, 0xf4, 0x00, 0x02, 0x0d, 0x0f, 0x88, 0x01, 0xf0, 0x06, 0x00, 0x0b,
                0x0c, 0xf0, 0x00, 0x05, 0x05, 0x12, 0xf0, 0x02, 0x04, 0x09, 0x12, 0xdd, 0x10, 0x11, 0xd8, 0x02, 0x03,
                0xf1, 0x03, 0x01, 0x11, 0x05, 0xf4, 0x00, 0x01, 0x11, 0x05, 0x88, 0x41, 0xf0, 0x06, 0x00, 0x11, 0x12,
                0x88, 0x41, 0x88, 0x41, 0xf8, 0x90, 0x01, 0x88, 0x41, 0x88, 0x45, 0x88, 0x45, 0x88, 0x45, 0x88, 0x45,
                0xf0, 0x0b, 0x00, 0x0b, 0x0c, 0xf0, 0x00, 0x05, 0x05, 0x12, 0xf0, 0x0c, 0x00, 0x0c, 0x0d, 0x80, 0x48},
               {{0, 10},
                {2, 12},
                {6, 14},
                {8, 12},
                {26, 216},
                {30, 217},
                {42, 218},
                {44, 219},
                {46, 217},
                {62, 220},
                {66, 221},
                {68, 222},
                {80, 223},
                {82, 222},
                {98, 225},
                {104, 0},
                {106, 225},
                {118, 220},
                {122, 226}},
               126);
}

// Whatever the bytes are, reading ends inside of them.
TEST(LineTable, CutTablesEnd) {
  for (const LineFormat format : {LineFormat::LineNumbers, LineFormat::LineRanges, LineFormat::Locations}) {
    for (int byte = 0; byte < 256; ++byte) {
      for (std::size_t size = 0; size < 4; ++size) {
        const std::vector<std::uint8_t> table(size, static_cast<std::uint8_t>(byte));
        line_of(format, table.data(), table.size(), 1, 1 << 20);
      }
    }
  }
}

}  // namespace
}  // namespace tare::recorder
