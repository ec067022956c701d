// The interpreter: one heap, the global names, and calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "objects.h"
#include "statement.h"
#include "tare/atom_table.h"
#include "tare/gc/heap.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"

namespace script {

// A script's value is on its way to who catches it. The value itself is in the interpreter, where the collector finds
// it: it looks into no exception.
struct Thrown {};

class Interpreter {
 public:
  // Throws std::runtime_error if there's no room for a heap.
  explicit Interpreter(const tare::gc::HeapOptions& options = {});
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Returns the result of the script. An uncaught value or a syntax error is a std::runtime_error with the line in its
  // text.
  Value run(std::string_view source);
  // The output of scripts since the last call.
  std::string take_output() { return std::exchange(output_, {}); }

  // Objects of the heap; throws "out of memory" where there is none.
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    T* made = tare::gc::make<T>(heap_, std::forward<Arguments>(arguments)...);
    if (made == nullptr) fail_for_memory();
    return made;
  }
  void need(bool has_memory) {
    if (!has_memory) fail_for_memory();
  }
  Value text(std::string_view characters);
  tare::Atom atom(std::string_view characters);

  // The code of a script, as a function without parameters.
  const FunctionNode* parse(std::string_view source);
  Value call(const Value& callee, const Value& self, std::span<const Value> arguments);
  // The same in two steps, so that arguments are evaluated where they will be.
  Scope* enter(const Closure& closure, const Value& self);
  Value run_body(const Closure& closure, Scope& scope);

  // Throws a text with the line of what is evaluated.
  [[noreturn]] void fail(const std::string& message);
  [[noreturn]] void throw_value(const Value& value);
  Value take_thrown();

  Value global(const Value& name);  // fails if there is none
  std::string to_text(const Value& value) const;
  std::string describe(const Value& value) const;  // for messages

  tare::gc::Heap& heap() { return heap_; }
  tare::AtomTable& atoms() { return atoms_; }
  void print(std::string_view printed) { (output_ += printed) += '\n'; }

  Flow flow = Flow::Next;
  int line = 0;  // of what is evaluated

 private:
  [[noreturn]] void fail_for_memory();
  void add_builtins();
  void write(std::string& to, const Value& value, int depth) const;

  tare::AtomTable atoms_;  // outlives the heap, whose objects let go of atoms when they die
  tare::gc::Heap heap_;
  tare::gc::Persistent<Record> globals_;
  tare::gc::RootedVector<Value> thrown_;
  std::string output_;
  int depth_ = 0;
  std::uintptr_t stack_begin_ = 0;  // where run() was called
};

// Functions that scripts can call by name.
struct Builtin {
  std::string_view name;
  NativeFunction function;
};
std::span<const Builtin> builtins();

}  // namespace script
