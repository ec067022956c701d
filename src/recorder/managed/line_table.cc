// Walks a code object's line table up to one instruction.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/line_table.h"

namespace tare::recorder {
namespace {

constexpr std::int64_t kNoLine = -1;

struct LineTable {
  const std::uint8_t* at;
  const std::uint8_t* end;

  bool has(std::uint64_t bytes) const { return static_cast<std::uint64_t>(end - at) >= bytes; }

  static constexpr int kWidest = 36;  // a sum of so many bits over a table of 64 MiB can't overflow

  // Six bits a byte, lowest first; bit 6 marks that another follows.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; has(1); shift += shift < kWidest ? 6 : 0) {
      const std::uint8_t byte = *at++;
      if (shift < kWidest) value |= static_cast<std::uint64_t>(byte & 63) << shift;
      if ((byte & 64) == 0) break;
    }
    return value;
  }
  std::int64_t signed_varint() {
    const std::uint64_t value = varint();
    const auto size = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -size : size;
  }
};

std::int64_t by_line_numbers(LineTable table, std::int64_t line, std::int64_t instruction) {
  std::int64_t address = 0;
  for (; table.has(2); table.at += 2) {
    address += table.at[0];
    if (address > instruction) break;
    line += static_cast<std::int8_t>(table.at[1]);
  }
  return line;
}

std::int64_t by_line_ranges(LineTable table, std::int64_t line, std::int64_t instruction) {
  constexpr std::int8_t kWithoutLine = -128;
  std::int64_t end = 0;
  for (; table.has(2); table.at += 2) {
    end += table.at[0];
    const auto step = static_cast<std::int8_t>(table.at[1]);
    if (step != kWithoutLine) line += step;
    if (instruction < end) return step == kWithoutLine ? kNoLine : line;
  }
  return kNoLine;
}

std::int64_t by_locations(LineTable table, std::int64_t line, std::int64_t instruction) {
  constexpr int kUnitBytes = 2;
  std::int64_t end = 0;
  while (table.has(1)) {
    const std::uint8_t head = *table.at++;
    const int kind = head >> 3 & 15;
    end += ((head & 7) + 1) * kUnitBytes;
    bool has_line = true;
    if (kind == 15) {
      has_line = false;
    } else if (kind == 14) {  // with end line and columns
      line += table.signed_varint();
      for (int i = 0; i < 3; ++i) table.varint();
    } else if (kind == 13) {  // without columns
      line += table.signed_varint();
    } else {
      const int operands = kind >= 10 ? 2 : 1;
      if (kind >= 10) line += kind - 10;
      if (!table.has(static_cast<std::uint64_t>(operands))) break;
      table.at += operands;
    }
    if (instruction < end) return has_line ? line : kNoLine;
  }
  return kNoLine;
}

}  // namespace

std::uint32_t line_of(LineFormat format, const std::uint8_t* table, std::uint64_t bytes, std::int64_t first_line,
                      std::int64_t instruction) {
  std::int64_t line = first_line;
  if (instruction >= 0) {
    const LineTable whole{table, table + bytes};
    line = format == LineFormat::LineNumbers  ? by_line_numbers(whole, first_line, instruction)
           : format == LineFormat::LineRanges ? by_line_ranges(whole, first_line, instruction)
                                              : by_locations(whole, first_line, instruction);
  }
  return line > 0 && line < INT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

}  // namespace tare::recorder
