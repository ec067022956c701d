// Functions that scripts can call by name: texts, arrays, maps, numbers, and load(), which makes code at run time.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "interpreter.h"
#include "lexer.h"

namespace script {

namespace {

using Arguments = std::span<const Value>;

const Value& argument(Arguments arguments, std::size_t i) {
  static const Value nil;
  return i < arguments.size() ? arguments[i] : nil;
}

template <class T>
T& cell(Interpreter& interpreter, Arguments arguments, std::size_t i) {
  T* found = argument(arguments, i).as<T>();
  if (found == nullptr) interpreter.fail("not to be called with " + interpreter.describe(argument(arguments, i)));
  return *found;
}

double number(Interpreter& interpreter, Arguments arguments, std::size_t i) {
  const Value& value = argument(arguments, i);
  if (!value.is_number()) interpreter.fail("a number is wanted, not " + interpreter.describe(value));
  return value.number();
}

// A place in something of `size`: numbers are cut to 0 .. size.
std::size_t place(Interpreter& interpreter, Arguments arguments, std::size_t i, std::size_t size) {
  const double wanted = number(interpreter, arguments, i);
  return wanted >= static_cast<double>(size) ? size : wanted > 0 ? static_cast<std::size_t>(wanted) : 0;
}

std::string_view text(Interpreter& interpreter, Arguments arguments, std::size_t i) {
  const Value& value = argument(arguments, i);
  if (!value.is_text()) interpreter.fail("a text is wanted, not " + interpreter.describe(value));
  return value.text();
}

Value print(Interpreter& interpreter, Arguments arguments) {
  std::string line;
  for (const Value& value : arguments) (line += line.empty() ? "" : " ") += interpreter.to_text(value);
  interpreter.print(line);
  return {};
}

Value len(Interpreter& interpreter, Arguments arguments) {
  const Value& value = argument(arguments, 0);
  if (value.is_text()) return Value(static_cast<double>(value.text().size()));
  if (auto* array = value.as<Array>()) return Value(static_cast<double>(array->items.size()));
  if (auto* record = value.as<Record>()) return Value(static_cast<double>(record->fields.size()));
  if (auto* weak = value.as<WeakMap>()) return Value(static_cast<double>(weak->boxes.size()));
  return Value(static_cast<double>(cell<Map>(interpreter, arguments, 0).entries.size()));
}

Value push(Interpreter& interpreter, Arguments arguments) {
  auto& array = cell<Array>(interpreter, arguments, 0);
  interpreter.need(array.items.push_back(interpreter.heap(), argument(arguments, 1)));
  return {};
}

Value pop(Interpreter& interpreter, Arguments arguments) {
  auto& array = cell<Array>(interpreter, arguments, 0);
  if (array.items.empty()) interpreter.fail("pop() of an empty array");
  Value last = array.items.back();
  array.items.pop_back();
  return last;
}

Value slice(Interpreter& interpreter, Arguments arguments) {
  if (argument(arguments, 0).is_text()) {
    const std::string_view characters = text(interpreter, arguments, 0);
    const std::size_t begin = place(interpreter, arguments, 1, characters.size());
    const std::size_t end = place(interpreter, arguments, 2, characters.size());
    return interpreter.text(begin < end ? characters.substr(begin, end - begin) : "");
  }
  auto& array = cell<Array>(interpreter, arguments, 0);
  const std::size_t begin = place(interpreter, arguments, 1, array.items.size());
  const std::size_t end = place(interpreter, arguments, 2, array.items.size());
  auto* part = interpreter.make<Array>();
  for (std::size_t i = begin; i < end; ++i) interpreter.need(part->items.push_back(interpreter.heap(), array.items[i]));
  return Value(part);
}

// In a copy, since the comparison may change the array; by a heap, which stays in bounds whatever the comparison says.
// std::stable_sort would take room from malloc, where values that are on their way would be found by nobody.
Value sort(Interpreter& interpreter, Arguments arguments) {
  auto& array = cell<Array>(interpreter, arguments, 0);
  const Value compare = argument(arguments, 1);
  tare::gc::RootedVector<Value> items;
  interpreter.need(items.reserve(interpreter.heap(), array.items.size()));
  for (const Value& item : array.items) interpreter.need(items.push_back(interpreter.heap(), item));
  const auto is_less = [&](const Value& a, const Value& b) {
    if (compare.is_nil()) {
      if (a.is_number() && b.is_number()) return a.number() < b.number();
      if (a.is_text() && b.is_text()) return a.text() < b.text();
      interpreter.fail("sort() of " + interpreter.describe(a) + " and " + interpreter.describe(b));
    }
    const std::array<Value, 2> both{a, b};
    return interpreter.call(compare, Value(), both).is_true();
  };
  std::make_heap(items.begin(), items.end(), is_less);
  std::sort_heap(items.begin(), items.end(), is_less);
  auto* sorted = interpreter.make<Array>();
  for (const Value& item : items) interpreter.need(sorted->items.push_back(interpreter.heap(), item));
  return Value(sorted);
}

Value map(Interpreter& interpreter, Arguments) { return Value(interpreter.make<Map>()); }

Value weakmap(Interpreter& interpreter, Arguments) { return Value(interpreter.make<WeakMap>()); }

Value has(Interpreter& interpreter, Arguments arguments) {
  if (auto* record = argument(arguments, 0).as<Record>()) return Value(record->find(argument(arguments, 1)) != nullptr);
  if (auto* weak = argument(arguments, 0).as<WeakMap>())
    return Value(weak->boxes.contains(argument(arguments, 1).cell()));
  return Value(cell<Map>(interpreter, arguments, 0).entries.find(argument(arguments, 1)) != nullptr);
}

Value drop(Interpreter& interpreter, Arguments arguments) {
  if (auto* record = argument(arguments, 0).as<Record>()) return Value(record->fields.erase(argument(arguments, 1)));
  if (auto* weak = argument(arguments, 0).as<WeakMap>()) return Value(weak->boxes.erase(argument(arguments, 1).cell()));
  return Value(cell<Map>(interpreter, arguments, 0).entries.erase(argument(arguments, 1)));
}

// Of weak maps: what a cell is mapped to, or nil.
Value recall(Interpreter& interpreter, Arguments arguments) {
  const auto* box = cell<WeakMap>(interpreter, arguments, 0).boxes.find(argument(arguments, 1).cell());
  return box == nullptr ? Value() : (*box)->value;
}

Value remember(Interpreter& interpreter, Arguments arguments) {
  auto& weak = cell<WeakMap>(interpreter, arguments, 0);
  Cell* key = argument(arguments, 1).cell();
  if (key == nullptr)
    interpreter.fail("a weak map's keys are what can die, not " + interpreter.describe(argument(arguments, 1)));
  auto* box = interpreter.make<Box>(argument(arguments, 2));
  interpreter.need(weak.boxes.insert(interpreter.heap(), key, box));
  return {};
}

// A record that has the fields of another which it hasn't itself.
Value derive(Interpreter& interpreter, Arguments arguments) {
  auto& record = cell<Record>(interpreter, arguments, 1);
  auto& prototype = cell<Record>(interpreter, arguments, 0);
  for (Record* above = &prototype; above != nullptr; above = above->prototype.get()) {
    if (above == &record) interpreter.fail("a record can't be its own prototype");
  }
  record.prototype = &prototype;
  return argument(arguments, 1);
}

Value str(Interpreter& interpreter, Arguments arguments) {
  return interpreter.text(interpreter.to_text(argument(arguments, 0)));
}

// nil if it is none.
Value num(Interpreter& interpreter, Arguments arguments) {
  const std::string_view characters = text(interpreter, arguments, 0);
  double parsed = 0;
  const auto [end, error] = std::from_chars(characters.data(), characters.data() + characters.size(), parsed);
  return error == std::errc() && end == characters.data() + characters.size() ? Value(parsed) : Value();
}

Value floor(Interpreter& interpreter, Arguments arguments) {
  return Value(std::floor(number(interpreter, arguments, 0)));
}

Value split(Interpreter& interpreter, Arguments arguments) {
  std::string_view rest = text(interpreter, arguments, 0);
  const std::string_view between = text(interpreter, arguments, 1);
  if (between.empty()) interpreter.fail("split() by nothing");
  auto* parts = interpreter.make<Array>();
  for (;;) {
    const std::size_t end = rest.find(between);
    interpreter.need(parts->items.push_back(interpreter.heap(), interpreter.text(rest.substr(0, end))));
    if (end == std::string_view::npos) return Value(parts);
    rest.remove_prefix(end + between.size());
  }
}

Value join(Interpreter& interpreter, Arguments arguments) {
  auto& array = cell<Array>(interpreter, arguments, 0);
  const std::string_view between = text(interpreter, arguments, 1);
  std::string joined;
  for (std::size_t i = 0; i < array.items.size(); ++i) {
    (joined += i == 0 ? "" : between) += interpreter.to_text(array.items[i]);
  }
  return interpreter.text(joined);
}

// The script in a text, as a function.
Value load(Interpreter& interpreter, Arguments arguments) {
  try {
    const FunctionNode* code = interpreter.parse(text(interpreter, arguments, 0));
    return Value(interpreter.make<Closure>(code, nullptr));
  } catch (const SyntaxError& error) {
    interpreter.fail("load(): line " + std::to_string(error.line) + ": " + error.message);
  }
}

// Dead keys of weak maps are gone after it, unless the stack still has something that looks like them.
Value collect(Interpreter& interpreter, Arguments) {
  interpreter.heap().collect(tare::gc::StackState::MayHoldPointers);
  return {};
}

constexpr Builtin kBuiltins[] = {
    {"print", print},   {"len", len},           {"push", push},     {"pop", pop},   {"slice", slice},
    {"sort", sort},     {"map", map},           {"has", has},       {"drop", drop}, {"weakmap", weakmap},
    {"recall", recall}, {"remember", remember}, {"str", str},       {"num", num},   {"floor", floor},
    {"split", split},   {"join", join},         {"derive", derive}, {"load", load}, {"collect", collect},
};

}  // namespace

std::span<const Builtin> builtins() { return kBuiltins; }

}  // namespace script
