// A script's code as a tree of collected nodes, each of which knows how to evaluate itself.
//
// Functions hold their code by Members: what a script made by load() and let go is collected like any other object.
// Parents come before their children are whole, so nodes are made from the leaves up and never change.
#pragma once

#include <cstdint>
#include <string_view>

#include "link.h"
#include "objects.h"
#include "tare/gc/heap_vector.h"
#include "value.h"

namespace script {

class Interpreter;

// Evaluated by a virtual function; traced and finalized by none.
class Node : public tare::gc::GarbageCollected<Node> {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual Value evaluate(Interpreter& interpreter, Scope& scope) const = 0;
  int line() const { return line_; }
  void trace(tare::gc::Visitor&) const {}

 protected:
  explicit Node(int line) : line_(line) {}
  ~Node() = default;

 private:
  int line_;
};

using NodeList = tare::gc::HeapVector<Link<Node>>;

// A place that can be assigned to.
class Target : public Node {
 public:
  virtual void assign(Interpreter& interpreter, Scope& scope, Value value) const = 0;

 protected:
  using Node::Node;
  ~Target() = default;
};

class LiteralNode final : public Node {
 public:
  LiteralNode(int line, Value value) : Node(line), value_(std::move(value)) {}
  Value evaluate(Interpreter&, Scope&) const override { return value_; }
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(value_); }

 private:
  Value value_;
};

// A variable of this function or of one around it.
class LocalNode final : public Target {
 public:
  LocalNode(int line, std::uint32_t depth, std::uint32_t slot) : Target(line), depth_(depth), slot_(slot) {}
  Value evaluate(Interpreter&, Scope& scope) const override { return place(scope); }
  void assign(Interpreter&, Scope& scope, Value value) const override { place(scope) = std::move(value); }

 private:
  Value& place(Scope& scope) const {
    Scope* at = &scope;
    for (std::uint32_t i = 0; i < depth_; ++i) at = at->parent();
    return (*at)[slot_];
  }

  std::uint32_t depth_;
  std::uint32_t slot_;
};

class GlobalNode final : public Node {
 public:
  GlobalNode(int line, tare::Atom name) : Node(line), name_(std::move(name)) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(name_); }

 private:
  Value name_;
};

class AssignNode final : public Node {
 public:
  AssignNode(int line, Target* target, Node* value) : Node(line), target_(target), value_(value) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(target_);
    visitor.trace(value_);
  }

 private:
  Link<Target> target_;
  Link<Node> value_;
};

class FieldNode final : public Target {
 public:
  FieldNode(int line, Node* object, tare::Atom name) : Target(line), object_(object), name_(std::move(name)) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void assign(Interpreter& interpreter, Scope& scope, Value value) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(object_);
    visitor.trace(name_);
  }

  const Node& object() const { return *object_; }
  const Value& name() const { return name_; }

 private:
  Link<Node> object_;
  Value name_;
};

class IndexNode final : public Target {
 public:
  IndexNode(int line, Node* object, Node* index) : Target(line), object_(object), index_(index) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void assign(Interpreter& interpreter, Scope& scope, Value value) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(object_);
    visitor.trace(index_);
  }

 private:
  Link<Node> object_;
  Link<Node> index_;
};

// f(a, b), or object.f(a, b), which sees the object as `self`.
class CallNode final : public Node {
 public:
  CallNode(int line, Node* callee, FieldNode* method, NodeList arguments)
      : Node(line), callee_(callee), method_(method), arguments_(std::move(arguments)) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(callee_);
    visitor.trace(method_);
    visitor.trace(arguments_);
  }

 private:
  Link<Node> callee_;
  Link<FieldNode> method_;  // the callee, if it is a field
  NodeList arguments_;
};

// Slot 0 is `self`, then come the parameters, then the other variables.
class FunctionNode final : public Node {
 public:
  FunctionNode(int line, tare::Atom name, std::uint32_t parameters, std::uint32_t slots, Node* body)
      : Node(line), name_(std::move(name)), parameters_(parameters), slots_(slots), body_(body) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(body_); }

  std::string_view name() const { return name_.text(); }
  std::uint32_t parameters() const { return parameters_; }
  std::uint32_t slots() const { return slots_; }
  const Node& body() const { return *body_; }

 private:
  tare::Atom name_;
  std::uint32_t parameters_;
  std::uint32_t slots_;
  Link<Node> body_;
};

class ArrayNode final : public Node {
 public:
  ArrayNode(int line, NodeList items) : Node(line), items_(std::move(items)) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(items_); }

 private:
  NodeList items_;
};

class RecordNode final : public Node {
 public:
  struct Field {
    Value name;
    Link<Node> value;
    void trace(tare::gc::Visitor& visitor) const {
      visitor.trace(name);
      visitor.trace(value);
    }
  };
  using Fields = tare::gc::HeapVector<Field>;

  RecordNode(int line, Fields fields) : Node(line), fields_(std::move(fields)) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(fields_); }

 private:
  Fields fields_;
};

enum class Operator : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Equal,
  Differs,
  Less,
  AtMost,
  And,
  Or,
  Not,
  Negate
};

class OperatorNode final : public Node {
 public:
  OperatorNode(int line, Operator what, Node* left, Node* right)
      : Node(line), what_(what), left_(left), right_(right) {}
  Value evaluate(Interpreter& interpreter, Scope& scope) const override;
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(left_);
    visitor.trace(right_);
  }

 private:
  Value calculate(Interpreter& interpreter, const Value& a, const Value& b) const;

  Operator what_;
  Link<Node> left_;
  Link<Node> right_;  // null: of one operand
};

}  // namespace script
