// Types of Rust's v0 names: basic, compound, of functions, trait objects, patterns.
#include "core/demangle/rust_v0_demangler.h"

#include <array>

namespace tare::core {
namespace {

// By letter from 'a'; null where a letter is no basic type.
constexpr std::array<const char*, 26> kBasicTypes = {
    "i8",   "bool", "char", "f64",   "str",   "f32", nullptr, "u8", "isize", "usize", nullptr, "i32", "u32",
    "i128", "u128", "_",    nullptr, nullptr, "i16", "u16",   "()", "...",   nullptr, "i64",   "u64", "!",
};
const char* basic_type(char tag) { return is_lower(tag) ? kBasicTypes[static_cast<std::size_t>(tag - 'a')] : nullptr; }

}  // namespace

void RustV0Demangler::type() {
  const Nesting nesting(*this);
  if (failed_) return;
  const char tag = peek();
  if (const char* basic = basic_type(tag)) {
    ++at_;
    return print(basic);
  }
  switch (tag) {
    case 'A':
    case 'S':
      ++at_;
      print("[");
      type();
      if (tag == 'A') {
        print("; ");
        constant(Context::Value);
      }
      return print("]");
    case 'T': {
      ++at_;
      print("(");
      const unsigned count = list(", ", [&] { type(); });
      return print(count == 1 ? ",)" : ")");
    }
    case 'R':
    case 'Q':
      ++at_;
      print("&");
      if (eat('L')) {
        if (const std::uint64_t index = base62(); index != 0) {
          lifetime(index);
          print(" ");
        }
      }
      if (tag == 'Q') print("mut ");
      return type();
    case 'P':
    case 'O':
      ++at_;
      print(tag == 'P' ? "*const " : "*mut ");
      return type();
    case 'F':
      ++at_;
      return with_binder([&] { function_type(); });
    case 'D':
      ++at_;
      return dynamic_type();
    case 'W':
      ++at_;
      print("pattern_type!(");
      type();
      print(" is ");
      pattern();
      return print(")");
    case 'B':
      ++at_;
      return back_reference([&] { type(); });
    default:
      return path(Context::Type);
  }
}

void RustV0Demangler::function_type() {
  if (eat('U')) print("unsafe ");
  if (eat('K')) {
    print("extern \"");
    if (eat('C')) {
      print("C");
    } else {
      const Identifier abi = identifier();
      if (abi.punycode) return fail();
      for (const char c : abi.text) print(c == '_' ? "-" : std::string_view(&c, 1));
    }
    print("\" ");
  }
  print("fn(");
  list(", ", [&] { type(); });
  print(")");
  if (eat('u')) return;
  print(" -> ");
  type();
}

void RustV0Demangler::dynamic_type() {
  print("dyn ");
  with_binder([&] { list(" + ", [&] { dynamic_trait(); }); });
  if (!eat('L')) return fail();
  if (const std::uint64_t index = base62(); index != 0) {
    print(" + ");
    lifetime(index);
  }
}

void RustV0Demangler::dynamic_trait() {
  bool open = trait_path();
  while (eat('p')) {
    print(open ? ", " : "<");
    open = true;
    print(identifier());
    print(" = ");
    type();
  }
  if (open) print(">");
}

bool RustV0Demangler::trait_path() {
  const Nesting nesting(*this);
  if (eat('B')) {
    bool open = false;
    back_reference([&] { open = trait_path(); });
    return open;
  }
  if (!eat('I')) {
    path(Context::Type);
    return false;
  }
  path(Context::Type);
  print("<");
  list(", ", [&] { generic_argument(); });
  return true;
}

void RustV0Demangler::pattern() {
  const Nesting nesting(*this);
  if (failed_) return;
  switch (next()) {
    case 'R':
      constant(Context::Type);
      print("..=");
      return constant(Context::Type);
    case 'O':
      list(" | ", [&] { pattern(); });
      return;
    case 'N':
      return print("!null");
    default:
      return fail();
  }
}

}  // namespace tare::core
