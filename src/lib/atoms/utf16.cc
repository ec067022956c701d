#include "lib/atoms/utf16.h"

#include <cstdint>

namespace tare::inline TARE_ABI::utf16 {

namespace {

constexpr bool is_high(std::uint32_t unit) { return unit >> 10 == 0xD800 >> 10; }
constexpr bool is_low(std::uint32_t unit) { return unit >> 10 == 0xDC00 >> 10; }
constexpr bool is_continuation(std::uint32_t byte) { return byte >> 6 == 2; }

struct Decoded {
  std::uint32_t point;  // surrogates too
  std::size_t size_bytes;
};

// Decodes the character at `i`. Broken sequences are U+FFFD for their longest start that could have become something.
Decoded decode(std::string_view text, std::size_t i) {
  const auto byte = [text](std::size_t at) -> std::uint32_t {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;  // 0 continues nothing
  };
  constexpr std::uint32_t kBroken = 0xFFFD;
  const std::uint32_t first = byte(i);
  if (first < 0x80) return {first, 1};
  if (first < 0xC2 || first > 0xF4) return {kBroken, 1};
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The range of the second byte excludes overlong forms and characters beyond U+10FFFF; not surrogates.
  const std::uint32_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint32_t most = first == 0xF4 ? 0x8F : 0xBF;
  if (byte(i + 1) < least || byte(i + 1) > most) return {kBroken, 1};
  std::uint32_t point = first & (0xFF >> (size + 1));
  for (std::size_t at = 1; at < size; ++at) {
    if (!is_continuation(byte(i + at))) return {kBroken, at};
    point = point << 6 | (byte(i + at) & 0x3F);
  }
  return {point, size};
}

}  // namespace

std::size_t to_bytes(std::u16string_view text, char* out) {
  std::size_t n = 0;
  const auto put = [&](std::uint32_t byte) { out[n++] = static_cast<char>(static_cast<unsigned char>(byte)); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint32_t point = text[i];
    if (point < 0x80) {
      put(point);
      continue;
    }
    if (is_high(point) && i + 1 < text.size() && is_low(text[i + 1])) {
      point = 0x10000 + ((point & 0x3FF) << 10) + (text[++i] & 0x3FFU);
    }
    if (point < 0x800) {
      put(0xC0 | point >> 6);
    } else if (point < 0x10000) {
      put(0xE0 | point >> 12);
      put(0x80 | (point >> 6 & 0x3F));
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
      put(0x80 | (point >> 6 & 0x3F));
    }
    put(0x80 | (point & 0x3F));
  }
  return n;
}

std::size_t from_bytes(std::string_view text, char16_t* out, std::size_t capacity) {
  std::size_t n = 0;
  const auto put = [&](std::uint32_t unit) {
    if (n < capacity) out[n] = static_cast<char16_t>(unit);
    ++n;
  };
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode(text, i);
    i += next.size_bytes;
    if (next.point < 0x10000) {
      put(next.point);
    } else {
      put(0xD800 + ((next.point - 0x10000) >> 10));
      put(0xDC00 + (next.point & 0x3FF));
    }
  }
  return n;
}

}  // namespace tare::inline TARE_ABI::utf16
