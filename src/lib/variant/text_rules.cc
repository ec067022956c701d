// Which texts a value may hold: the rules of text_rules.h byte by byte.
#include "tare/variant/text_rules.h"

#include "tare/variant/type.h"

namespace tare::inline TARE_ABI::variant {
namespace {

using Byte = unsigned char;

constexpr bool is_continuation(Byte byte) { return (byte & 0xC0) == 0x80; }

// Bytes of the character at `at`, or 0 if there's none that is valid.
std::size_t character_size(const Byte* at, std::size_t left) {
  const Byte first = at[0];
  if (first < 0x80) return first == 0 ? 0 : 1;
  if (first < 0xC2 || first > 0xF4) return 0;  // continuations, overlong forms of ASCII, above U+10FFFF
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (size > left || !is_continuation(at[1])) return 0;
  if (first == 0xE0 && at[1] < 0xA0) return 0;   // overlong
  if (first == 0xED && at[1] >= 0xA0) return 0;  // surrogates
  if (first == 0xF0 && at[1] < 0x90) return 0;   // overlong
  if (first == 0xF4 && at[1] >= 0x90) return 0;  // above U+10FFFF
  for (std::size_t i = 2; i < size; ++i) {
    if (!is_continuation(at[i])) return 0;
  }
  return size;
}

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool text_details::is_text_slowly(std::string_view text) noexcept {
  const auto* at = reinterpret_cast<const Byte*>(text.data());
  for (std::size_t left = text.size(); left != 0;) {
    if (left >= 8 && odd_bytes(load8(reinterpret_cast<const char*>(at))) == 0) {
      at += 8;
      left -= 8;
      continue;
    }
    const std::size_t size = character_size(at, left);
    if (size == 0) return false;
    at += size;
    left -= size;
  }
  return true;
}

bool is_object_path(std::string_view text) noexcept {
  if (text.empty() || text[0] != '/') return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '/' ? text[i - 1] == '/' : !is_name_character(text[i])) return false;
  }
  return text.size() == 1 || text.back() != '/';
}

bool is_signature(std::string_view text) noexcept {
  if (text.find('m') != std::string_view::npos) return false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t depth = 0;
    at = type_details::scan(text, at, type_details::Indefinite::Refused, depth);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace tare::inline TARE_ABI::variant
