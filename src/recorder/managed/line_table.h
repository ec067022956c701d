// The line of an instruction, from the tables that CPython's code objects carry: three formats since 3.9.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::recorder {

enum class LineFormat : std::uint8_t {
  LineNumbers,  // 3.9: co_lnotab, pairs of signed line and unsigned code increments
  LineRanges,   // 3.10: co_linetable, ranges with a line or none
  Locations,    // 3.11 and later: co_linetable with columns
};

inline constexpr std::uint64_t kMostLineTableBytes = 64 << 20;

constexpr LineFormat line_format(int minor) {
  return minor == 9 ? LineFormat::LineNumbers : minor == 10 ? LineFormat::LineRanges : LineFormat::Locations;
}

// `instruction`: its byte offset in the code; negative before the first. 0: it has no line. Reads `bytes` bytes of
// `table` at most, of which there are no more than kMostLineTableBytes.
std::uint32_t line_of(LineFormat format, const std::uint8_t* table, std::uint64_t bytes, std::int64_t first_line,
                      std::int64_t instruction);

}  // namespace tare::recorder
