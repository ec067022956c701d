// The nodes that decide what is evaluated next.
#pragma once

#include <cstdint>

#include "link.h"
#include "node.h"

namespace script {

class BlockNode final : public Node {
 public:
  BlockNode(int line, NodeList statements) : Node(line), statements_(std::move(statements)) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(statements_); }

 private:
  NodeList statements_;
};

class IfNode final : public Node {
 public:
  IfNode(int line, Node* condition, Node* then, Node* otherwise)
      : Node(line), condition_(condition), then_(then), otherwise_(otherwise) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(condition_);
    visitor.trace(then_);
    visitor.trace(otherwise_);
  }

 private:
  Link<Node> condition_;
  Link<Node> then_;
  Link<Node> otherwise_;
};

class WhileNode final : public Node {
 public:
  WhileNode(int line, Node* condition, Node* body) : Node(line), condition_(condition), body_(body) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(condition_);
    visitor.trace(body_);
  }

 private:
  Link<Node> condition_;
  Link<Node> body_;
};

// Over an array's items, a record's or a map's keys, or the numbers below one.
class ForNode final : public Node {
 public:
  ForNode(int line, Target* variable, Node* range, Node* body)
      : Node(line), variable_(variable), range_(range), body_(body) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(variable_);
    visitor.trace(range_);
    visitor.trace(body_);
  }

 private:
  Link<Target> variable_;
  Link<Node> range_;
  Link<Node> body_;
};

// The effect of statements on those after them.
enum class Flow : std::uint8_t { Next, Break, Continue, Return };

class LeaveNode final : public Node {
 public:
  LeaveNode(int line, Flow flow, Node* value) : Node(line), flow_(flow), value_(value) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(value_); }

 private:
  Flow flow_;
  Link<Node> value_;  // may be null
};

class ThrowNode final : public Node {
 public:
  ThrowNode(int line, Node* value) : Node(line), value_(value) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(value_); }

 private:
  Link<Node> value_;
};

class TryNode final : public Node {
 public:
  TryNode(int line, Node* body, Target* variable, Node* handler)
      : Node(line), body_(body), variable_(variable), handler_(handler) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(body_);
    visitor.trace(variable_);
    visitor.trace(handler_);
  }

 private:
  Link<Node> body_;
  Link<Target> variable_;
  Link<Node> handler_;
};

}  // namespace script
