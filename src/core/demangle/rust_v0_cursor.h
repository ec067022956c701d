// Reads the lexical parts of a Rust v0 name: numbers, identifiers, hex constants. The first misread sticks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tare::core {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

class RustV0Cursor {
 public:
  // `body` is the name after "_R": where back references count from.
  explicit RustV0Cursor(std::string_view body) : in_(body) {}

  struct Identifier {
    std::string_view text;
    bool punycode = false;
  };

  void fail() { failed_ = true; }
  char peek() const { return failed_ || at_ >= in_.size() ? '\0' : in_[at_]; }
  char next() {
    if (failed_ || at_ >= in_.size()) {
      fail();
      return '\0';
    }
    return in_[at_++];
  }
  bool eat(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  // "_" is 0, "0_" is 1, ... "Z_" is 62, "10_" is 63
  std::uint64_t base62() {
    if (eat('_')) return 0;
    std::uint64_t value = 0;
    for (;;) {
      const char c = next();
      std::uint64_t digit = 0;
      if (is_digit(c)) {
        digit = static_cast<std::uint64_t>(c - '0');
      } else if (is_lower(c)) {
        digit = static_cast<std::uint64_t>(c - 'a') + 10;
      } else if (is_upper(c)) {
        digit = static_cast<std::uint64_t>(c - 'A') + 36;
      } else if (c == '_') {
        if (value == UINT64_MAX) fail();
        return value + 1;
      } else {
        fail();
        return 0;
      }
      if (value > (UINT64_MAX - digit) / 62) {
        fail();
        return 0;
      }
      value = value * 62 + digit;
    }
  }

  // Absent is 0; "s_" is 1.
  std::uint64_t optional_base62(char tag) {
    if (!eat(tag)) return 0;
    const std::uint64_t value = base62();
    if (value == UINT64_MAX) fail();
    return failed_ ? 0 : value + 1;
  }
  std::uint64_t disambiguator() { return optional_base62('s'); }

  std::uint64_t decimal() {
    if (!is_digit(peek())) {
      fail();
      return 0;
    }
    if (eat('0')) return 0;
    std::uint64_t value = 0;
    while (is_digit(peek()) && value < (1u << 30)) value = value * 10 + static_cast<std::uint64_t>(next() - '0');
    return value;
  }

  Identifier identifier() {
    Identifier found;
    found.punycode = eat('u');
    const std::uint64_t length = decimal();
    eat('_');
    if (failed_ || in_.size() - at_ < length) {
      fail();
      return {};
    }
    found.text = in_.substr(at_, length);
    at_ += length;
    return found;
  }

  // Digits until "_", as they stand.
  std::string_view hex_digits() {
    const std::size_t begin = at_;
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++at_;
    const std::string_view digits = in_.substr(begin, at_ - begin);
    if (!eat('_')) fail();
    return digits;
  }
  static std::optional<std::uint64_t> number_of(std::string_view hex) {
    while (hex.starts_with('0')) hex.remove_prefix(1);
    if (hex.size() > 16) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : hex) value = value * 16 + static_cast<std::uint64_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
    return value;
  }

 protected:
  std::string_view in_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace tare::core
