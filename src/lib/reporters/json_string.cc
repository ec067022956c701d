#include "lib/reporters/json_string.h"

#include <cstddef>

namespace tare::inline TARE_ABI {

namespace {

// Length of the well-formed UTF-8 sequence that `text` begins with; 0: it isn't one.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // overlong, surrogates, beyond U+10FFFF: recognised by the second byte
  const unsigned char second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
      (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

void add_json_string(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      (out += '\\') += first;
    } else if (static_cast<unsigned char>(first) < 0x20) {
      ((out += "\\u00") += kDigits[first >> 4]) += kDigits[first & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace tare::inline TARE_ABI
