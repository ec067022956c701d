// tare/variant/text_rules.h: which texts a value may hold: UTF-8 without zeros, object paths, signatures.
//
//   tare::variant::is_text("Grüße");                // true: UTF-8, no zero inside
//   tare::variant::is_object_path("/org/tare");     // true
//   tare::variant::is_signature("a{sv}u");          // true: any number of types
//   tare::variant::copy_text(to, text);             // checks and copies in one walk
//
// Eight bytes are checked in one step while text is ASCII, as most is; other text is checked byte by byte. UTF-8 here
// is that of Unicode: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Nothing allocates or throws; any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

namespace text_details {

inline constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
inline constexpr std::uint64_t kHighs = 0x8080'8080'8080'8080;

inline std::uint64_t load8(const char* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, 8);
  return word;
}
inline std::uint32_t load4(const char* from) noexcept {
  std::uint32_t word;
  std::memcpy(&word, from, 4);
  return word;
}
inline void store8(char* to, std::uint64_t word) noexcept { std::memcpy(to, &word, 8); }
inline void store4(char* to, std::uint32_t word) noexcept { std::memcpy(to, &word, 4); }

// Not 0 where a byte is 0 or above 127. A borrow sets bits only above a byte that is 0 itself.
inline std::uint64_t odd_bytes(std::uint64_t word) noexcept { return ((word - kOnes) | word) & kHighs; }

// The same of one byte. Char has no sign on some machines, aarch64 among them.
constexpr std::uint64_t odd_byte(char c) noexcept { return static_cast<signed char>(c) > 0 ? 0 : 1; }

// Any text; the whole rule.
TARE_API bool is_text_slowly(std::string_view text) noexcept;

}  // namespace text_details

// Whether `text` is UTF-8 without a zero in it.
inline bool is_text(std::string_view text) noexcept {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t odd = 0;
  for (; left >= 8; at += 8, left -= 8) odd |= text_details::odd_bytes(text_details::load8(at));
  if (text.size() >= 8) {
    if (left != 0) odd |= text_details::odd_bytes(text_details::load8(at + left - 8));
  } else if (left >= 4) {
    odd = text_details::odd_bytes(text_details::load4(at) | std::uint64_t{text_details::load4(at + left - 4)} << 32);
  } else {
    for (std::size_t i = 0; i < left; ++i) odd |= text_details::odd_byte(at[i]);
  }
  return odd == 0 || text_details::is_text_slowly(text);
}

// Copies `text` to `to`, which has room for it, and checks it on the way. False if it isn't UTF-8 or has a zero; then
// the contents of `to` are undefined. Nothing is written outside text.size() bytes. Inlined always: texts are short,
// and a call takes as long as copying one.
[[gnu::always_inline]] inline bool copy_text(char* to, std::string_view text) noexcept {
  const char* from = text.data();
  const std::size_t size = text.size();
  std::uint64_t odd = 0;
  if (size >= 8) {
    std::size_t done = 0;
    for (; done + 8 <= size; done += 8) {
      const std::uint64_t word = text_details::load8(from + done);
      odd |= text_details::odd_bytes(word);
      text_details::store8(to + done, word);
    }
    const std::uint64_t last = text_details::load8(from + size - 8);
    odd |= text_details::odd_bytes(last);
    text_details::store8(to + size - 8, last);
  } else if (size >= 4) {
    const std::uint32_t head = text_details::load4(from);
    const std::uint32_t tail = text_details::load4(from + size - 4);
    odd = text_details::odd_bytes(head | std::uint64_t{tail} << 32);
    text_details::store4(to, head);
    text_details::store4(to + size - 4, tail);
  } else {
    for (std::size_t i = 0; i < size; ++i) {
      to[i] = from[i];
      odd |= text_details::odd_byte(from[i]);
    }
  }
  return odd == 0 || text_details::is_text_slowly(text);
}

// Whether `text` is an object path: /, or names of A-Z a-z 0-9 _ with a / before each.
TARE_API bool is_object_path(std::string_view text) noexcept;

// Whether `text` is any number of types without maybe, one behind the other.
TARE_API bool is_signature(std::string_view text) noexcept;

}  // namespace tare::inline TARE_ABI::variant
