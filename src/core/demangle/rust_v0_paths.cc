// Paths of Rust's v0 names: crates, impls, nested items, generic arguments.
#include "core/demangle/rust_v0_demangler.h"

namespace tare::core {

std::optional<std::string> RustV0Demangler::run() {
  path(Context::Value);
  if (!failed_ && is_upper(peek())) {  // the crate that instantiated it: part of the symbol, not of the name
    printing_ = false;
    path(Context::Type);
  }
  if (at_ != in_.size()) fail();
  if (failed_) return std::nullopt;
  return std::move(out_);
}

void RustV0Demangler::path(Context context) {
  const Nesting nesting(*this);
  if (failed_) return;
  switch (const char tag = next()) {
    case 'C':
      disambiguator();
      return print(identifier());
    case 'M':
    case 'X':
    case 'Y':
      if (tag != 'Y') {
        disambiguator();
        const bool printed = printing_;
        printing_ = false;  // where the impl stands doesn't matter to a reader
        path(Context::Type);
        printing_ = printed;
      }
      print("<");
      type();
      if (tag != 'M') {
        print(" as ");
        path(Context::Type);
      }
      return print(">");
    case 'N':
      return nested_path(context);
    case 'I':
      path(context);
      if (context == Context::Value) print("::");
      print("<");
      list(", ", [&] { generic_argument(); });
      return print(">");
    case 'B':
      return back_reference([&] { path(context); });
    default:
      return fail();
  }
}

void RustV0Demangler::nested_path(Context context) {
  const char space = next();
  if (!is_upper(space) && !is_lower(space)) return fail();
  path(context);
  const std::uint64_t number = disambiguator();
  const Identifier name = identifier();
  if (is_lower(space)) {
    if (name.text.empty()) return;
    print("::");
    return print(name);
  }
  print("::{");
  if (space == 'C') {
    print("closure");
  } else if (space == 'S') {
    print("shim");
  } else {
    print(std::string_view(&space, 1));
  }
  if (!name.text.empty()) {
    print(":");
    print(name);
  }
  print("#");
  print_number(number);
  print("}");
}

void RustV0Demangler::generic_argument() {
  if (eat('L')) {
    lifetime(base62());
  } else if (eat('K')) {
    constant(Context::Type);
  } else {
    type();
  }
}

void RustV0Demangler::lifetime(std::uint64_t index) {
  if (index == 0) return print("'_");
  if (index > bound_lifetimes_) return fail();
  const std::uint64_t depth = bound_lifetimes_ - index;
  print("'");
  if (depth < 26) {
    const char letter = static_cast<char>('a' + depth);
    return print(std::string_view(&letter, 1));
  }
  print("z");
  print_number(depth - 26 + 1);
}

}  // namespace tare::core
