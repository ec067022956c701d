// Splits a script's text into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace script {

enum class TokenKind : std::uint8_t { Number, Text, Name, Keyword, Sign, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view spelling;  // of the script; of a text without its quotes, escapes unresolved
  int line = 1;
};

// An error in a script, and its place.
struct SyntaxError {
  std::string message;
  int line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : rest_(source) {}

  // The next token; End at the end, again and again. Throws SyntaxError.
  Token next();

 private:
  void skip_space();
  Token take(TokenKind kind, std::size_t length);

  std::string_view rest_;
  int line_ = 1;
};

// A text's characters: \n, \t, \", \\ resolved.
std::string unescape(std::string_view spelling);

}  // namespace script
