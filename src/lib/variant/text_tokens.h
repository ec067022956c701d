// Splits a text into tokens: a number, a word, a quoted text, a type behind @, or one character.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tare/variant/text.h"

namespace tare::inline TARE_ABI::variant::text_details {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v'); }

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // The token that is next: empty at the end of the text.
  std::string_view peek() {
    if (!is_ready_) prepare();
    return text_.substr(begin_, end_ - begin_);
  }
  bool is_next(char first) { return !peek().empty() && peek()[0] == first; }
  bool consume(std::string_view token) {
    if (peek() != token) return false;
    next();
    return true;
  }
  void next() { is_ready_ = false; }

  std::size_t begin() {  // of the next token
    peek();
    return begin_;
  }
  std::size_t end() const { return end_; }  // of the token looked at last

  TextRange range() { return {begin(), end_}; }
  TextRange point() { return {begin(), begin_}; }

 private:
  void prepare();
  std::size_t end_of_quoted(std::size_t quote) const;
  std::size_t end_of_type() const;

  std::string_view text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool is_ready_ = false;
};

}  // namespace tare::inline TARE_ABI::variant::text_details
