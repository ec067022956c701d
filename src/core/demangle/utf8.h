// Code points to UTF-8, for the demanglers.
#pragma once

#include <cstdint>
#include <string>

namespace tare::core {

inline bool is_scalar_value(std::uint32_t point) { return point <= 0x10ffff && (point < 0xd800 || point >= 0xe000); }

inline void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0 | (point >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (point >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace tare::core
