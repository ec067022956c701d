#include "statement.h"

#include "interpreter.h"

namespace script {

namespace {

// After a loop's body: whether it goes on.
bool goes_on(Interpreter& interpreter) {
  if (interpreter.flow == Flow::Continue) interpreter.flow = Flow::Next;
  if (interpreter.flow == Flow::Next) return true;
  if (interpreter.flow == Flow::Break) interpreter.flow = Flow::Next;
  return false;
}

}  // namespace

Value BlockNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  for (const Link<Node>& statement : statements_) {
    Value value = statement->evaluate(interpreter, scope);
    if (interpreter.flow != Flow::Next) return value;
  }
  return {};
}

Value IfNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  if (condition_->evaluate(interpreter, scope).is_true()) return then_->evaluate(interpreter, scope);
  return otherwise_ ? otherwise_->evaluate(interpreter, scope) : Value();
}

Value WhileNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  while (condition_->evaluate(interpreter, scope).is_true()) {
    Value value = body_->evaluate(interpreter, scope);
    if (goes_on(interpreter)) continue;
    return interpreter.flow == Flow::Return ? value : Value();
  }
  return {};
}

Value ForNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  const Value range = range_->evaluate(interpreter, scope);
  interpreter.line = line();
  // What is gone through may grow and shrink meanwhile: each step looks anew.
  const auto item = [&](std::size_t i, Value& value) {
    if (range.is_number()) {
      value = Value(static_cast<double>(i));
      return static_cast<double>(i) < range.number();
    }
    if (auto* array = range.as<Array>()) {
      if (i >= array->items.size()) return false;
      value = array->items[i];
      return true;
    }
    const auto* record = range.as<Record>();
    const auto* map = range.as<Map>();
    if (record == nullptr && map == nullptr) interpreter.fail(interpreter.describe(range) + " can't be gone through");
    const Table& table = record != nullptr ? record->fields : map->entries;
    if (i >= table.end_place()) return false;
    value = table.at(i).key;
    return true;
  };
  Value value;
  for (std::size_t i = 0; item(i, value); ++i) {
    if (value.is_nil() && range.as<Array>() == nullptr) continue;  // an erased key
    variable_->assign(interpreter, scope, value);
    Value result = body_->evaluate(interpreter, scope);
    if (!goes_on(interpreter)) return interpreter.flow == Flow::Return ? result : Value();
  }
  return {};
}

Value LeaveNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  Value value = value_ ? value_->evaluate(interpreter, scope) : Value();
  interpreter.flow = flow_;
  return value;
}

Value ThrowNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  const Value value = value_->evaluate(interpreter, scope);
  interpreter.line = line();
  interpreter.throw_value(value);
}

Value TryNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  try {
    return body_->evaluate(interpreter, scope);
  } catch (const Thrown&) {
    interpreter.flow = Flow::Next;
  }
  variable_->assign(interpreter, scope, interpreter.take_thrown());
  return handler_->evaluate(interpreter, scope);
}

}  // namespace script
