// Finds bytes that aren't UTF-8: see readable_text.h.
#include "bindings/readable_text.h"

#include <cstddef>
#include <cstdint>

namespace tare::bindings {
namespace {

// Bytes of the code point that begins `text`, 0 if none does: as Unicode's table of well-formed sequences has it.
std::size_t code_point_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0u; };
  const auto is_tail = [&](std::size_t at) { return (byte(at) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !is_tail(1)) return 0;
  if (first < 0xe0) return 2;
  // neither longer than need be, nor a surrogate, nor beyond the last code point
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if (first < 0xf0) return is_tail(2) ? 3 : 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return is_tail(2) && is_tail(3) ? 4 : 0;
}

}  // namespace

std::string readable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = code_point_bytes(text);
    const auto first = static_cast<std::uint8_t>(text.front());
    if (bytes == 0) {
      out += {'\\', 'x', kDigits[first >> 4], kDigits[first & 15]};
    } else if (first != 0) {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace tare::bindings
