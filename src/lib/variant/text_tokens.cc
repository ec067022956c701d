// Finds where tokens end.
#include "lib/variant/text_tokens.h"

namespace tare::inline TARE_ABI::variant::text_details {

// The place behind the quote that ends the one at `quote`, or the end of the text.
std::size_t Tokens::end_of_quoted(std::size_t quote) const {
  for (std::size_t at = quote + 1; at < text_.size(); ++at) {
    if (text_[at] == text_[quote]) return at + 1;
    if (text_[at] == '\\') ++at;
  }
  return text_.size();
}

// Up to a character that can't be in a type, or a bracket that closes one opened outside.
std::size_t Tokens::end_of_type() const {
  std::size_t open = 0;
  std::size_t at = begin_ + 1;
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == ',' || c == ':' || c == '>' || c == ']' || is_space(c)) break;
    if (c == '(' || c == '{') ++open;
    if (c == ')' || c == '}') {
      if (open == 0) break;
      --open;
    }
  }
  return at;
}

void Tokens::prepare() {
  is_ready_ = true;
  std::size_t at = end_;
  while (at < text_.size() && is_space(text_[at])) ++at;
  begin_ = end_ = at;
  if (at == text_.size()) return;
  const char first = text_[at++];
  if (is_digit(first) || first == '-' || first == '+' || first == '.') {
    const auto belongs = [](char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '+' || c == '.'; };
    while (at < text_.size() && belongs(text_[at])) ++at;
  } else if (first == 'b' && at < text_.size() && (text_[at] == '\'' || text_[at] == '"')) {
    at = end_of_quoted(at);
  } else if (first >= 'a' && first <= 'z') {
    while (at < text_.size() && (is_digit(text_[at]) || is_letter(text_[at]))) ++at;
  } else if (first == '\'' || first == '"') {
    at = end_of_quoted(begin_);
  } else if (first == '@' || first == '%') {
    at = end_of_type();
  }
  end_ = at;
}

}  // namespace tare::inline TARE_ABI::variant::text_details
