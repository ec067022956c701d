// The cells of the language: arrays, records, maps, functions, and the scopes that functions close over.
#pragma once

#include <memory>
#include <span>

#include "link.h"
#include "table.h"
#include "tare/atom.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "value.h"

namespace script {

class FunctionNode;
class Interpreter;

class Array final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::Array;
  Array() : Cell(kKind) {}
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(items); }

  tare::gc::HeapVector<Value> items;
};

// Fields by name. What a record hasn't is looked for in its prototype.
class Record final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::Record;
  Record() : Cell(kKind) {}
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(fields);
    visitor.trace(prototype);
  }

  // The field's value, or null.
  Value* find(const Value& name) {
    for (Record* record = this; record != nullptr; record = record->prototype.get()) {
      if (Value* value = record->fields.find(name)) return value;
    }
    return nullptr;
  }

  Table fields;
  Link<Record> prototype;
};

class Map final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::Map;
  Map() : Cell(kKind) {}
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(entries); }

  Table entries;
};

// A value as a cell of its own.
class Box final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::Box;
  explicit Box(Value held) : Cell(kKind), value(std::move(held)) {}
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(value); }

  Value value;
};

// Keys are cells, and an entry lives while its key does, even if the value points to it. Values of weak keys are
// Members, so each lies in a box.
class WeakMap final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::WeakMap;
  WeakMap() : Cell(kKind) {}
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(boxes); }

  tare::gc::HeapHashMap<tare::gc::WeakMember<Cell>, tare::gc::Member<Box>> boxes;
};

// The variables of a call, as many as the function has: made with AdditionalBytes(bytes_for(count)).
class Scope final : public tare::gc::GarbageCollected<Scope> {
 public:
  Scope(Scope* parent, std::size_t count) : parent_(parent), count_(static_cast<std::uint32_t>(count)) {
    std::uninitialized_value_construct_n(slots(), count_);
  }
  ~Scope() { std::destroy_n(slots(), count_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  static std::size_t bytes_for(std::size_t count) { return count * sizeof(Value); }

  Scope* parent() const { return parent_.get(); }
  Value& operator[](std::size_t i) { return slots()[i]; }
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(parent_);
    for (std::size_t i = 0; i < count_; ++i) visitor.trace(slots()[i]);
  }

 private:
  Value* slots() const {
    return reinterpret_cast<Value*>(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + sizeof(Scope));
  }

  Link<Scope> parent_;
  std::uint32_t count_;
};
static_assert(sizeof(Scope) % alignof(Value) == 0);

class Closure final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::Closure;
  Closure(const FunctionNode* code, Scope* scope) : Cell(kKind), code_(code), scope_(scope) {}
  const FunctionNode* code() const { return code_.get(); }
  Scope* scope() const { return scope_.get(); }
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(code_);
    visitor.trace(scope_);
  }

 private:
  Link<const FunctionNode> code_;
  Link<Scope> scope_;
};

// A function of the host. Arguments lie on the caller's stack.
using NativeFunction = Value (*)(Interpreter& interpreter, std::span<const Value> arguments);

class Native final : public Cell {
 public:
  static constexpr CellKind kKind = CellKind::Native;
  Native(tare::Atom name, NativeFunction call) : Cell(kKind), name_(std::move(name)), function_(call) {}
  std::string_view name() const { return name_.text(); }
  NativeFunction function() const { return function_; }

 private:
  tare::Atom name_;
  NativeFunction function_;
};

}  // namespace script
