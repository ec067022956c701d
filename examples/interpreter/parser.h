// Reads a script's text into nodes, and finds out where each variable will lie.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lexer.h"
#include "statement.h"

namespace script {

class Interpreter;

// What it has made so far hangs on the stack, where the collector looks; scripts need no other roots while they're
// read.
class Parser {
 public:
  Parser(Interpreter& interpreter, std::string_view source);

  // The whole script as a function without parameters. Throws SyntaxError.
  FunctionNode* script();

 private:
  // A function that is being read: its variables' names, in the order of their slots.
  struct Function {
    std::vector<std::string_view> variables{"self"};
    Function* around = nullptr;
  };

  class Nesting;

  bool at(std::string_view sign) const { return is_sign(token_) && token_.spelling == sign; }
  static bool is_sign(const Token& token) { return token.kind == TokenKind::Sign || token.kind == TokenKind::Keyword; }
  bool skip(std::string_view sign);
  int expect(std::string_view sign);  // returns its line
  Token take();
  std::string_view name();
  [[noreturn]] void fail(const std::string& message) const;

  Node* statement();
  Node* block();
  Node* let();
  Node* for_in();
  Node* try_catch();
  Node* expression();  // with assignments
  Node* operation(int least_binding);
  Node* operand();
  Node* postfix(Node* object);
  Node* primary();
  Node* array();
  Node* record();
  FunctionNode* function(std::string_view name);
  NodeList arguments(std::string_view end);

  LocalNode* declare(std::string_view name, int line);
  Node* variable(std::string_view name, int line);

  Interpreter& interpreter_;
  Lexer lexer_;
  Token token_;
  Function* function_ = nullptr;
  int nesting_ = 0;
};

}  // namespace script
