#include "node.h"

#include <array>
#include <cmath>

#include "interpreter.h"

namespace script {

namespace {

constexpr std::size_t kMostNativeArguments = 8;

// The item of an array that a number names, or null.
Value* item_at(Array& array, const Value& index) {
  if (!index.is_number() || index.number() < 0 || index.number() != std::floor(index.number())) return nullptr;
  const double number = index.number();
  return number < static_cast<double>(array.items.size()) ? &array.items[static_cast<std::size_t>(number)] : nullptr;
}

Table* table_of(const Value& value) {
  if (auto* record = value.as<Record>()) return &record->fields;
  if (auto* map = value.as<Map>()) return &map->entries;
  return nullptr;
}

}  // namespace

Value GlobalNode::evaluate(Interpreter& interpreter, Scope&) const {
  interpreter.line = line();
  return interpreter.global(name_);
}

Value AssignNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  Value value = value_->evaluate(interpreter, scope);
  target_->assign(interpreter, scope, value);
  return value;
}

Value FieldNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  const Value object = object_->evaluate(interpreter, scope);
  interpreter.line = line();
  auto* record = object.as<Record>();
  if (record == nullptr) interpreter.fail(interpreter.describe(object) + " has no field " + std::string(name_.text()));
  const Value* value = record->find(name_);
  return value == nullptr ? Value() : *value;
}

void FieldNode::assign(Interpreter& interpreter, Scope& scope, Value value) const {
  const Value object = object_->evaluate(interpreter, scope);
  interpreter.line = line();
  auto* record = object.as<Record>();
  if (record == nullptr)
    interpreter.fail(interpreter.describe(object) + " can have no field " + std::string(name_.text()));
  interpreter.need(record->fields.set(interpreter.heap(), name_, std::move(value)));
}

Value IndexNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  const Value object = object_->evaluate(interpreter, scope);
  const Value index = index_->evaluate(interpreter, scope);
  interpreter.line = line();
  if (auto* array = object.as<Array>()) {
    const Value* item = item_at(*array, index);
    if (item == nullptr)
      interpreter.fail("an array of " + std::to_string(array->items.size()) + " has no item " +
                       interpreter.describe(index));
    return *item;
  }
  if (object.is_text()) {
    const std::string_view text = object.text();
    if (!index.is_number() || index.number() < 0 || index.number() >= static_cast<double>(text.size())) {
      interpreter.fail("a text of " + std::to_string(text.size()) + " has no character " + interpreter.describe(index));
    }
    return interpreter.text(text.substr(static_cast<std::size_t>(index.number()), 1));
  }
  Table* table = table_of(object);
  if (table == nullptr) interpreter.fail(interpreter.describe(object) + " can't be indexed");
  const Value* value = table->find(index);
  return value == nullptr ? Value() : *value;
}

void IndexNode::assign(Interpreter& interpreter, Scope& scope, Value value) const {
  const Value object = object_->evaluate(interpreter, scope);
  const Value index = index_->evaluate(interpreter, scope);
  interpreter.line = line();
  if (auto* array = object.as<Array>()) {
    Value* item = item_at(*array, index);
    if (item == nullptr)
      interpreter.fail("an array of " + std::to_string(array->items.size()) + " has no item " +
                       interpreter.describe(index));
    *item = std::move(value);
    return;
  }
  Table* table = table_of(object);
  if (table == nullptr || index.is_nil())
    interpreter.fail(interpreter.describe(object) + " can't be indexed by " + interpreter.describe(index));
  interpreter.need(table->set(interpreter.heap(), index, std::move(value)));
}

Value CallNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  Value self;
  Value callee;
  if (method_) {
    self = method_->object().evaluate(interpreter, scope);
    auto* record = self.as<Record>();
    interpreter.line = line();
    if (record == nullptr)
      interpreter.fail(interpreter.describe(self) + " has no method " + std::string(method_->name().text()));
    const Value* found = record->find(method_->name());
    if (found != nullptr) callee = *found;
  } else {
    callee = callee_->evaluate(interpreter, scope);
  }
  if (auto* closure = callee.as<Closure>()) {
    Scope* called = interpreter.enter(*closure, self);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      Value argument = arguments_[i]->evaluate(interpreter, scope);
      if (i < closure->code()->parameters()) (*called)[i + 1] = std::move(argument);
    }
    interpreter.line = line();
    return interpreter.run_body(*closure, *called);
  }
  std::array<Value, kMostNativeArguments> arguments;
  if (arguments_.size() > arguments.size()) interpreter.fail("more than 8 arguments");
  for (std::size_t i = 0; i < arguments_.size(); ++i) arguments[i] = arguments_[i]->evaluate(interpreter, scope);
  interpreter.line = line();
  return interpreter.call(callee, self, std::span<const Value>(arguments).first(arguments_.size()));
}

Value FunctionNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  return Value(interpreter.make<Closure>(this, &scope));
}

Value ArrayNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  auto* array = interpreter.make<Array>();
  interpreter.need(array->items.reserve(interpreter.heap(), items_.size()));
  for (const Link<Node>& item : items_) {
    interpreter.need(array->items.push_back(interpreter.heap(), item->evaluate(interpreter, scope)));
  }
  return Value(array);
}

Value RecordNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  auto* record = interpreter.make<Record>();
  for (const Field& field : fields_) {
    interpreter.need(record->fields.set(interpreter.heap(), field.name, field.value->evaluate(interpreter, scope)));
  }
  return Value(record);
}

Value OperatorNode::evaluate(Interpreter& interpreter, Scope& scope) const {
  const Value left = left_->evaluate(interpreter, scope);
  if (what_ == Operator::And) return left.is_true() ? right_->evaluate(interpreter, scope) : left;
  if (what_ == Operator::Or) return left.is_true() ? left : right_->evaluate(interpreter, scope);
  if (what_ == Operator::Not) return Value(!left.is_true());
  const Value right = right_ ? right_->evaluate(interpreter, scope) : Value();
  interpreter.line = line();
  return calculate(interpreter, left, right);
}

Value OperatorNode::calculate(Interpreter& interpreter, const Value& a, const Value& b) const {
  if (what_ == Operator::Equal) return Value(a == b);
  if (what_ == Operator::Differs) return Value(!(a == b));
  if (what_ == Operator::Negate) {
    if (!a.is_number()) interpreter.fail("- of " + interpreter.describe(a));
    return Value(-a.number());
  }
  if (a.is_number() && b.is_number()) {
    const double x = a.number();
    const double y = b.number();
    switch (what_) {
      case Operator::Add:
        return Value(x + y);
      case Operator::Subtract:
        return Value(x - y);
      case Operator::Multiply:
        return Value(x * y);
      case Operator::Divide:
        return Value(x / y);
      case Operator::Remainder:
        return Value(std::fmod(x, y));
      case Operator::Less:
        return Value(x < y);
      default:
        return Value(x <= y);
    }
  }
  if (a.is_text() && b.is_text()) {
    if (what_ == Operator::Less) return Value(a.text() < b.text());
    if (what_ == Operator::AtMost) return Value(a.text() <= b.text());
  }
  if (what_ == Operator::Add && (a.is_text() || b.is_text())) {
    return interpreter.text(interpreter.to_text(a) + interpreter.to_text(b));
  }
  interpreter.fail("no such operation of " + interpreter.describe(a) + " and " + interpreter.describe(b));
}

}  // namespace script
