#include "interpreter.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "parser.h"

namespace script {

namespace {

constexpr int kMostDepth = 400;                                      // calls within calls
constexpr std::uintptr_t kMostStackBytes = std::uintptr_t{4} << 20;  // of 8 MiB: deep expressions within deep calls
constexpr int kMostShownDepth = 12;                                  // arrays within arrays, when written out

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char text[32];
  const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
  const int length = std::snprintf(text, sizeof(text), is_whole ? "%.0f" : "%.10g", number);
  return {text, static_cast<std::size_t>(length)};
}

class DepthScope {
 public:
  explicit DepthScope(int& depth) : depth_(depth) { ++depth_; }
  ~DepthScope() { --depth_; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;

 private:
  int& depth_;
};

std::uintptr_t stack_position() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

tare::gc::Heap make_heap(const tare::gc::HeapOptions& options) {
  tare::CageResult<tare::gc::Heap> made = tare::gc::Heap::create(options);
  if (!made) throw std::runtime_error(tare::describe(made.error()));
  return std::move(made.value());
}

}  // namespace

Interpreter::Interpreter(const tare::gc::HeapOptions& options) : heap_(make_heap(options)) {
  globals_ = make<Record>();
  need(thrown_.resize(heap_, 1));
  add_builtins();
}

void Interpreter::add_builtins() {
  for (const Builtin& builtin : builtins()) {
    tare::Atom name = atom(builtin.name);
    auto* native = make<Native>(name, builtin.function);
    need(globals_->fields.set(heap_, Value(name), Value(native)));
  }
}

const FunctionNode* Interpreter::parse(std::string_view source) { return Parser(*this, source).script(); }

Value Interpreter::run(std::string_view source) {
  flow = Flow::Next;
  if (depth_ == 0) stack_begin_ = stack_position();
  try {
    const FunctionNode* code = parse(source);
    return call(Value(make<Closure>(code, nullptr)), Value(), {});
  } catch (const SyntaxError& error) {
    throw std::runtime_error("line " + std::to_string(error.line) + ": " + error.message);
  } catch (const Thrown&) {
    throw std::runtime_error(to_text(take_thrown()));
  }
}

Value Interpreter::call(const Value& callee, const Value& self, std::span<const Value> arguments) {
  if (const auto* native = callee.as<Native>()) return native->function()(*this, arguments);
  const auto* closure = callee.as<Closure>();
  if (closure == nullptr) fail(describe(callee) + " can't be called");
  Scope* scope = enter(*closure, self);
  for (std::size_t i = 0; i < arguments.size() && i < closure->code()->parameters(); ++i)
    (*scope)[i + 1] = arguments[i];
  return run_body(*closure, *scope);
}

Scope* Interpreter::enter(const Closure& closure, const Value& self) {
  const std::size_t slots = closure.code()->slots();
  auto* scope = make<Scope>(tare::gc::AdditionalBytes(Scope::bytes_for(slots)), closure.scope(), slots);
  (*scope)[0] = self;
  return scope;
}

Value Interpreter::run_body(const Closure& closure, Scope& scope) {
  if (depth_ == kMostDepth) fail("more than " + std::to_string(kMostDepth) + " calls within calls");
  if (stack_begin_ - stack_position() > kMostStackBytes) fail("calls within calls need too much of the stack");
  const DepthScope depth(depth_);
  Value result = closure.code()->body().evaluate(*this, scope);
  if (flow != Flow::Return) return {};
  flow = Flow::Next;
  return result;
}

void Interpreter::fail(const std::string& message) {
  throw_value(text("line " + std::to_string(line) + ": " + message));
}

void Interpreter::throw_value(const Value& value) {
  thrown_[0] = value;
  throw Thrown{};
}

Value Interpreter::take_thrown() { return std::exchange(thrown_[0], Value()); }

void Interpreter::fail_for_memory() { throw std::runtime_error("out of memory"); }

Value Interpreter::global(const Value& name) {
  const Value* value = globals_->find(name);
  if (value == nullptr) fail("nothing is called " + std::string(name.text()));
  return *value;
}

tare::Atom Interpreter::atom(std::string_view characters) {
  tare::Atom atom = atoms_.intern(characters);
  if (!atom) fail_for_memory();
  return atom;
}

Value Interpreter::text(std::string_view characters) { return Value(atom(characters)); }

std::string Interpreter::to_text(const Value& value) const {
  if (value.is_text()) return std::string(value.text());
  std::string text;
  write(text, value, 0);
  return text;
}

std::string Interpreter::describe(const Value& value) const {
  if (value.is_text()) return "\"" + std::string(value.text().substr(0, 40)) + "\"";
  if (value.kind() != Kind::Cell) return to_text(value);
  constexpr const char* kNames[] = {"an array", "a record", "a map", "a weak map", "a function", "a function", "a box"};
  return kNames[static_cast<std::size_t>(value.cell()->kind())];
}

void Interpreter::write(std::string& to, const Value& value, int depth) const {
  const auto write_table = [&](const Table& table, const char* between) {
    const char* before = "";
    for (std::size_t place = 0; place < table.end_place(); ++place) {
      const Table::Entry& entry = table.at(place);
      if (entry.key.is_nil()) continue;
      to += std::exchange(before, ", ");
      write(to, entry.key, depth + 1);
      to += between;
      write(to, entry.value, depth + 1);
    }
  };
  if (depth > kMostShownDepth) {
    to += "...";
  } else if (value.is_text()) {
    to += value.text();
  } else if (value.is_number()) {
    to += number_text(value.number());
  } else if (value.kind() == Kind::Bool) {
    to += value.is_true() ? "true" : "false";
  } else if (value.is_nil()) {
    to += "nil";
  } else if (auto* array = value.as<Array>()) {
    to += '[';
    const char* before = "";
    for (const Value& item : array->items) {
      to += std::exchange(before, ", ");
      write(to, item, depth + 1);
    }
    to += ']';
  } else if (auto* record = value.as<Record>()) {
    to += '{';
    write_table(record->fields, ": ");
    to += '}';
  } else if (auto* map = value.as<Map>()) {
    to += "map(";
    write_table(map->entries, " -> ");
    to += ')';
  } else {
    to += describe(value);
  }
}

}  // namespace script
