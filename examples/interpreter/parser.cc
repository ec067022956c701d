#include "parser.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "interpreter.h"

namespace script {

namespace {

// Of brackets, blocks and operators in a row: each is a few frames of the parser's, and one of evaluation.
constexpr int kMostNesting = 200;

struct Binding {
  std::string_view sign;
  int strength;
  Operator what;
  bool is_turned_round = false;  // a > b is b < a; but a is evaluated first where it matters: both are then named
};
constexpr Binding kBindings[] = {
    {"||", 1, Operator::Or},        {"&&", 2, Operator::And},          {"==", 3, Operator::Equal},
    {"!=", 3, Operator::Differs},   {"<", 4, Operator::Less},          {"<=", 4, Operator::AtMost},
    {">", 4, Operator::Less, true}, {">=", 4, Operator::AtMost, true}, {"+", 5, Operator::Add},
    {"-", 5, Operator::Subtract},   {"*", 6, Operator::Multiply},      {"/", 6, Operator::Divide},
    {"%", 6, Operator::Remainder},
};
constexpr int kUnaryStrength = 7;

std::optional<Binding> binding_of(const Token& token) {
  if (token.kind != TokenKind::Sign) return {};
  const auto* found = std::ranges::find(kBindings, token.spelling, &Binding::sign);
  if (found == std::end(kBindings)) return {};
  return *found;
}

}  // namespace

class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.nesting_ > kMostNesting) parser_.fail("an expression is nested too deep");
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& parser_;
};

Parser::Parser(Interpreter& interpreter, std::string_view source) : interpreter_(interpreter), lexer_(source) {
  token_ = lexer_.next();
}

void Parser::fail(const std::string& message) const { throw SyntaxError{message, token_.line}; }

Token Parser::take() {
  const Token token = token_;
  token_ = lexer_.next();
  return token;
}

bool Parser::skip(std::string_view sign) {
  if (!at(sign)) return false;
  take();
  return true;
}

int Parser::expect(std::string_view sign) {
  if (!at(sign)) {
    fail("'" + std::string(sign) + "' is expected before " +
         (token_.kind == TokenKind::End ? "the end" : "'" + std::string(token_.spelling) + "'"));
  }
  return take().line;
}

std::string_view Parser::name() {
  if (token_.kind != TokenKind::Name) fail("a name is expected before '" + std::string(token_.spelling) + "'");
  return take().spelling;
}

FunctionNode* Parser::script() {
  Function whole;
  function_ = &whole;
  NodeList statements;
  while (token_.kind != TokenKind::End) interpreter_.need(statements.push_back(interpreter_.heap(), statement()));
  Node* body = interpreter_.make<BlockNode>(1, std::move(statements));
  function_ = nullptr;
  return interpreter_.make<FunctionNode>(1, interpreter_.atom("script"), 0U,
                                         static_cast<std::uint32_t>(whole.variables.size()), body);
}

Node* Parser::statement() {
  const Nesting nesting(*this);
  if (at("{")) return block();
  if (at("let")) return let();
  if (at("for")) return for_in();
  if (at("try")) return try_catch();
  const int line = token_.line;
  if (skip("if")) {
    expect("(");
    Node* condition = expression();
    expect(")");
    Node* then = statement();
    Node* otherwise = skip("else") ? statement() : nullptr;
    return interpreter_.make<IfNode>(line, condition, then, otherwise);
  }
  if (skip("while")) {
    expect("(");
    Node* condition = expression();
    expect(")");
    return interpreter_.make<WhileNode>(line, condition, statement());
  }
  if (at("fn")) {
    take();
    if (token_.kind != TokenKind::Name) fail("a function that nobody can call: give it a name");
    const std::string_view called = take().spelling;
    LocalNode* variable = declare(called, line);
    return interpreter_.make<AssignNode>(line, variable, function(called));
  }
  Node* result = nullptr;
  if (skip("return")) {
    Node* value = at(";") ? nullptr : expression();
    result = interpreter_.make<LeaveNode>(line, Flow::Return, value);
  } else if (skip("break")) {
    result = interpreter_.make<LeaveNode>(line, Flow::Break, nullptr);
  } else if (skip("continue")) {
    result = interpreter_.make<LeaveNode>(line, Flow::Continue, nullptr);
  } else if (skip("throw")) {
    result = interpreter_.make<ThrowNode>(line, expression());
  } else {
    result = expression();
  }
  expect(";");
  return result;
}

Node* Parser::block() {
  const int line = expect("{");
  NodeList statements;
  while (!at("}")) {
    if (token_.kind == TokenKind::End) fail("a block without an end");
    interpreter_.need(statements.push_back(interpreter_.heap(), statement()));
  }
  take();
  return interpreter_.make<BlockNode>(line, std::move(statements));
}

Node* Parser::let() {
  const int line = expect("let");
  LocalNode* variable = declare(name(), line);  // a function may call itself by it
  Node* value = skip("=") ? expression() : interpreter_.make<LiteralNode>(line, Value());
  expect(";");
  return interpreter_.make<AssignNode>(line, variable, value);
}

Node* Parser::for_in() {
  const int line = expect("for");
  expect("(");
  LocalNode* variable = declare(name(), line);
  expect("in");
  Node* range = expression();
  expect(")");
  return interpreter_.make<ForNode>(line, variable, range, statement());
}

Node* Parser::try_catch() {
  const int line = expect("try");
  Node* body = block();
  expect("catch");
  expect("(");
  LocalNode* variable = declare(name(), line);
  expect(")");
  return interpreter_.make<TryNode>(line, body, variable, block());
}

Node* Parser::expression() {
  Node* left = operation(1);
  if (token_.kind == TokenKind::Sign && token_.spelling.ends_with('=') && !binding_of(token_)) {
    const Token sign = take();
    // Nodes that can be assigned to are those that are made for names, fields and indices.
    auto* target = dynamic_cast<Target*>(left);
    if (target == nullptr) fail("what stands before '" + std::string(sign.spelling) + "' can't be assigned to");
    Node* value = expression();
    if (sign.spelling.size() == 2) {
      const std::string_view operation = sign.spelling.substr(0, 1);
      const auto* found = std::ranges::find(kBindings, operation, &Binding::sign);
      value = interpreter_.make<OperatorNode>(sign.line, found->what, left, value);
    }
    left = interpreter_.make<AssignNode>(sign.line, target, value);
  }
  return left;
}

Node* Parser::operation(int least_binding) {
  Node* left = operand();
  for (int signs = 0;; ++signs) {
    if (signs > kMostNesting) fail("an expression is nested too deep");
    const std::optional<Binding> binding = binding_of(token_);
    if (!binding || binding->strength < least_binding) return left;
    const int line = take().line;
    Node* right = operation(binding->strength + 1);
    left = binding->is_turned_round ? interpreter_.make<OperatorNode>(line, binding->what, right, left)
                                    : interpreter_.make<OperatorNode>(line, binding->what, left, right);
  }
}

Node* Parser::operand() {
  const Nesting nesting(*this);
  const int line = token_.line;
  if (skip("-")) return interpreter_.make<OperatorNode>(line, Operator::Negate, operation(kUnaryStrength), nullptr);
  if (skip("!")) return interpreter_.make<OperatorNode>(line, Operator::Not, operation(kUnaryStrength), nullptr);
  return postfix(primary());
}

Node* Parser::postfix(Node* object) {
  for (int signs = 0;; ++signs) {
    if (signs > kMostNesting) fail("an expression is nested too deep");
    const int line = token_.line;
    if (skip(".")) {
      auto* field = interpreter_.make<FieldNode>(line, object, interpreter_.atom(name()));
      object = field;
      if (skip("(")) object = interpreter_.make<CallNode>(line, nullptr, field, arguments(")"));
    } else if (skip("[")) {
      Node* index = expression();
      expect("]");
      object = interpreter_.make<IndexNode>(line, object, index);
    } else if (skip("(")) {
      object = interpreter_.make<CallNode>(line, object, nullptr, arguments(")"));
    } else {
      return object;
    }
  }
}

Node* Parser::primary() {
  const Token token = token_;
  if (skip("(")) {
    Node* inner = expression();
    expect(")");
    return inner;
  }
  if (at("[")) return array();
  if (at("{")) return record();
  if (skip("fn")) return function("");
  take();
  if (token.kind == TokenKind::Number) {
    return interpreter_.make<LiteralNode>(token.line, Value(std::strtod(std::string(token.spelling).c_str(), nullptr)));
  }
  if (token.kind == TokenKind::Text) {
    return interpreter_.make<LiteralNode>(token.line, interpreter_.text(unescape(token.spelling)));
  }
  if (token.kind == TokenKind::Name) return variable(token.spelling, token.line);
  if (token.spelling == "nil") return interpreter_.make<LiteralNode>(token.line, Value());
  if (token.spelling == "true") return interpreter_.make<LiteralNode>(token.line, Value(true));
  if (token.spelling == "false") return interpreter_.make<LiteralNode>(token.line, Value(false));
  throw SyntaxError{"a value is expected before " +
                        (token.kind == TokenKind::End ? "the end" : "'" + std::string(token.spelling) + "'"),
                    token.line};
}

NodeList Parser::arguments(std::string_view end) {
  NodeList list;
  while (!at(end)) {
    interpreter_.need(list.push_back(interpreter_.heap(), expression()));
    if (!skip(",")) break;
  }
  expect(end);
  return list;
}

Node* Parser::array() {
  const int line = expect("[");
  return interpreter_.make<ArrayNode>(line, arguments("]"));
}

Node* Parser::record() {
  const int line = expect("{");
  RecordNode::Fields fields;
  while (!at("}")) {
    const Value key(interpreter_.atom(name()));
    expect(":");
    interpreter_.need(fields.push_back(interpreter_.heap(), RecordNode::Field{key, expression()}));
    if (!skip(",")) break;
  }
  expect("}");
  return interpreter_.make<RecordNode>(line, std::move(fields));
}

// Its `fn` and name have been read.
FunctionNode* Parser::function(std::string_view called) {
  const int line = expect("(");
  Function inner;
  inner.around = function_;
  function_ = &inner;
  while (!at(")")) {
    inner.variables.push_back(name());
    if (!skip(",")) break;
  }
  expect(")");
  const auto parameters = static_cast<std::uint32_t>(inner.variables.size() - 1);
  Node* body = block();
  function_ = inner.around;
  return interpreter_.make<FunctionNode>(line, interpreter_.atom(called), parameters,
                                         static_cast<std::uint32_t>(inner.variables.size()), body);
}

// One variable a name and function: the same name again is the same variable.
LocalNode* Parser::declare(std::string_view called, int line) {
  std::vector<std::string_view>& variables = function_->variables;
  auto found = std::ranges::find(variables, called);
  if (found == variables.end()) found = variables.insert(variables.end(), called);
  return interpreter_.make<LocalNode>(line, 0U, static_cast<std::uint32_t>(found - variables.begin()));
}

Node* Parser::variable(std::string_view called, int line) {
  std::uint32_t depth = 0;
  for (const Function* function = function_; function != nullptr; function = function->around, ++depth) {
    const auto found = std::ranges::find(function->variables, called);
    if (found == function->variables.end()) continue;
    return interpreter_.make<LocalNode>(line, depth, static_cast<std::uint32_t>(found - function->variables.begin()));
  }
  return interpreter_.make<GlobalNode>(line, interpreter_.atom(called));
}

}  // namespace script
