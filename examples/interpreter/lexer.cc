#include "lexer.h"

#include <algorithm>
#include <array>

namespace script {

namespace {

constexpr std::array<std::string_view, 16> kKeywords{"let",   "fn",     "if",    "else",     "while", "for",
                                                     "in",    "return", "break", "continue", "throw", "try",
                                                     "catch", "nil",    "true",  "false"};
constexpr std::array<std::string_view, 11> kLongSigns{"==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%="};
constexpr std::string_view kSigns = "+-*/%<>=!(){}[],;:.";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

template <class Test>
std::size_t length_while(std::string_view text, Test test) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), test) - text.begin());
}

}  // namespace

void Lexer::skip_space() {
  for (;;) {
    const std::size_t blanks =
        length_while(rest_, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    line_ += static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(blanks), '\n'));
    rest_.remove_prefix(blanks);
    if (!rest_.starts_with("//")) return;
    rest_.remove_prefix(std::min(rest_.size(), rest_.find('\n')));
  }
}

Token Lexer::take(TokenKind kind, std::size_t length) {
  const Token token{kind, rest_.substr(0, length), line_};
  rest_.remove_prefix(length);
  return token;
}

Token Lexer::next() {
  skip_space();
  if (rest_.empty()) return {TokenKind::End, {}, line_};
  const char first = rest_.front();
  if (is_digit(first)) {
    std::size_t length = length_while(rest_, is_digit);
    if (length + 1 < rest_.size() && rest_[length] == '.' && is_digit(rest_[length + 1])) {
      length += 1 + length_while(rest_.substr(length + 1), is_digit);
    }
    return take(TokenKind::Number, length);
  }
  if (is_letter(first)) {
    const std::size_t length = length_while(rest_, [](char c) { return is_letter(c) || is_digit(c); });
    const bool is_keyword = std::ranges::find(kKeywords, rest_.substr(0, length)) != kKeywords.end();
    return take(is_keyword ? TokenKind::Keyword : TokenKind::Name, length);
  }
  if (first == '"') {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"' && rest_[end] != '\n') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size() || rest_[end] != '"') throw SyntaxError{"a text without an end", line_};
    rest_.remove_prefix(1);
    const Token token = take(TokenKind::Text, end - 1);
    rest_.remove_prefix(1);
    return token;
  }
  for (const std::string_view sign : kLongSigns) {
    if (rest_.starts_with(sign)) return take(TokenKind::Sign, sign.size());
  }
  if (kSigns.find(first) == std::string_view::npos) {
    throw SyntaxError{"'" + std::string(1, first) + "' is no sign of the language", line_};
  }
  return take(TokenKind::Sign, 1);
}

std::string unescape(std::string_view spelling) {
  std::string text;
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    if (spelling[i] != '\\') {
      text += spelling[i];
      continue;
    }
    const char escaped = spelling[++i];
    text += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
  }
  return text;
}

}  // namespace script
