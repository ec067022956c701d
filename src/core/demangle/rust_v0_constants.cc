// Constants in Rust's v0 names: numbers, characters, strings, and structures of them.
#include "core/demangle/rust_v0_demangler.h"

#include "core/demangle/utf8.h"

namespace tare::core {

void RustV0Demangler::constant(Context context) {
  const Nesting nesting(*this);
  if (failed_) return;
  const char tag = next();
  const auto in_braces = [&](auto&& print_inner) {
    if (context == Context::Type) print("{");
    print_inner();
    if (context == Context::Type) print("}");
  };
  const auto inner_list = [&] { return list(", ", [&] { constant(Context::Value); }); };
  switch (tag) {
    case 'p':
      return print("_");
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i':
      if (eat('n')) print("-");
      return integer();
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j':
      return integer();
    case 'b': {
      const std::optional<std::uint64_t> value = number_of(hex_digits());
      if (value > 1u) return fail();
      return print(value == 1u ? "true" : "false");
    }
    case 'c': {
      const std::optional<std::uint64_t> value = number_of(hex_digits());
      if (!value || *value > 0x10ffff || !is_scalar_value(static_cast<std::uint32_t>(*value))) return fail();
      print("'");
      escaped(static_cast<std::uint32_t>(*value), '\'');
      return print("'");
    }
    case 'e':
      return in_braces([&] { print("*"), string_literal(); });
    case 'R':
    case 'Q':
      if (tag == 'R' && eat('e')) return string_literal();
      return in_braces([&] {
        print(tag == 'R' ? "&" : "&mut ");
        constant(Context::Value);
      });
    case 'A':
      return in_braces([&] { print("["), inner_list(), print("]"); });
    case 'T':
      return in_braces([&] { print("("), print(inner_list() == 1 ? ",)" : ")"); });
    case 'V':
      return in_braces([&] { structure(); });
    case 'B':
      return back_reference([&] { constant(context); });
    default:
      return fail();
  }
}

void RustV0Demangler::structure() {
  path(Context::Value);
  switch (next()) {
    case 'U':
      return;
    case 'T':
      print("(");
      list(", ", [&] { constant(Context::Value); });
      return print(")");
    case 'S':
      print(" { ");
      list(", ", [&] {
        disambiguator();
        print(identifier());
        print(": ");
        constant(Context::Value);
      });
      return print(" }");
    default:
      return fail();
  }
}

void RustV0Demangler::integer() {
  std::string_view digits = hex_digits();
  if (digits.empty()) return fail();
  if (const std::optional<std::uint64_t> value = number_of(digits)) return print_number(*value);
  digits.remove_prefix(digits.find_first_not_of('0'));
  print("0x");
  print(digits);
}

void RustV0Demangler::escaped(std::uint32_t point, char quote) {
  switch (point) {
    case '\t':
      return print("\\t");
    case '\r':
      return print("\\r");
    case '\n':
      return print("\\n");
    case '\\':
      return print("\\\\");
    default:
      break;
  }
  if (point == static_cast<std::uint8_t>(quote)) return print(quote == '"' ? "\\\"" : "\\'");
  if (point >= 0x20 && point < 0x7f) {
    const char c = static_cast<char>(point);
    return print(std::string_view(&c, 1));
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (std::uint32_t left = point; left != 0 || hex.empty(); left >>= 4) hex.insert(hex.begin(), kDigits[left & 15]);
  print("\\u{" + hex + "}");
}

void RustV0Demangler::string_literal() {
  const std::string_view digits = hex_digits();
  if (digits.size() % 2 != 0) return fail();
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) bytes += static_cast<char>(*number_of(digits.substr(i, 2)));
  print("\"");
  for (std::size_t i = 0; i < bytes.size() && !failed_;) {
    const auto lead = static_cast<std::uint8_t>(bytes[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
    if (length == 0 || bytes.size() - i < length) return fail();
    std::uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<std::uint8_t>(bytes[i + k]);
      if ((byte & 0xc0) != 0x80) return fail();
      point = (point << 6) | (byte & 0x3fu);
    }
    if (!is_scalar_value(point)) return fail();
    escaped(point, '"');
    i += length;
  }
  print("\"");
}

}  // namespace tare::core
