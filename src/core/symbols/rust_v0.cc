// Recursive descent over the v0 grammar (RFC 2603 and the later structural constants and pattern types), printing as it
// parses. Depth, output and steps are bounded: a back reference may name a part that names others, which doubles at
// each step.
#include "core/symbols/rust_v0.h"

#include <array>
#include <cstdint>

#include "core/symbols/punycode.h"
#include "core/symbols/rust_v0_cursor.h"
#include "core/symbols/utf8.h"

namespace tare::core {
namespace {

constexpr unsigned kMaxDepth = 300;
constexpr std::size_t kMaxOutputBytes = 64 << 10;
constexpr unsigned kMaxSteps = 200'000;

// By letter from 'a'; null where a letter is no basic type.
constexpr std::array<const char*, 26> kBasicTypes = {
    "i8",   "bool", "char", "f64",   "str",   "f32", nullptr, "u8", "isize", "usize", nullptr, "i32", "u32",
    "i128", "u128", "_",    nullptr, nullptr, "i16", "u16",   "()", "...",   nullptr, "i64",   "u64", "!",
};
const char* basic_type(char tag) { return is_lower(tag) ? kBasicTypes[static_cast<std::size_t>(tag - 'a')] : nullptr; }

enum class Context : std::uint8_t { Type, Value };  // generic arguments are <...> in types, ::<...> in values

class Demangler : private RustV0Cursor {
 public:
  explicit Demangler(std::string_view body) : RustV0Cursor(body) {}

  std::optional<std::string> run() {
    path(Context::Value);
    if (!failed_ && is_upper(peek())) {  // the crate that instantiated it: part of the symbol, not of the name
      printing_ = false;
      path(Context::Type);
    }
    if (at_ != in_.size()) fail();
    if (failed_) return std::nullopt;
    return std::move(out_);
  }

 private:
  // One for each nested production: bounds the recursion and the work.
  class Nesting {
   public:
    explicit Nesting(Demangler& demangler) : demangler_(demangler) {
      if (++demangler_.depth_ > kMaxDepth || ++demangler_.steps_ > kMaxSteps) demangler_.fail();
    }
    ~Nesting() { --demangler_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Demangler& demangler_;
  };

  void print(std::string_view text) {
    if (!printing_ || failed_) return;
    if (out_.size() + text.size() > kMaxOutputBytes) return fail();
    out_ += text;
  }
  void print_number(std::uint64_t number) { print(std::to_string(number)); }

  void print(const Identifier& identifier) {
    if (!printing_ || failed_) return;
    if (!identifier.punycode) return print(identifier.text);
    if (const std::optional<std::string> decoded = decode_punycode(identifier.text)) return print(*decoded);
    fail();
  }

  // Runs `parse` at an earlier place, once. Where nothing is printed there is nothing to learn from it.
  template <typename Parse>
  void back_reference(Parse&& parse) {
    const std::size_t tag_at = at_ - 1;
    const std::uint64_t target = base62();
    if (failed_ || target >= tag_at) return fail();
    if (!printing_) return;
    const std::size_t resume = at_;
    at_ = target;
    parse();
    at_ = resume;
  }

  // Items until "E".
  template <typename Item>
  unsigned list(std::string_view separator, Item&& item) {
    unsigned count = 0;
    while (!failed_ && !eat('E')) {
      if (count++ != 0) print(separator);
      item();
    }
    return count;
  }

  void path(Context context) {
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

  void nested_path(Context context) {
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

  void generic_argument() {
    if (eat('L')) {
      lifetime(base62());
    } else if (eat('K')) {
      constant(Context::Type);
    } else {
      type();
    }
  }

  // De Bruijn index: 1 is the innermost bound lifetime, 0 an erased one.
  void lifetime(std::uint64_t index) {
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

  template <typename Inner>
  void with_binder(Inner&& inner) {
    const std::uint64_t count = optional_base62('G');
    if (count > in_.size()) return fail();  // each bound lifetime is used somewhere
    if (count != 0) {
      print("for<");
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i != 0) print(", ");
        ++bound_lifetimes_;
        lifetime(1);
      }
      print("> ");
    }
    inner();
    bound_lifetimes_ -= count;
  }

  void type() {
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

  void function_type() {
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

  void dynamic_type() {
    print("dyn ");
    with_binder([&] { list(" + ", [&] { dynamic_trait(); }); });
    if (!eat('L')) return fail();
    if (const std::uint64_t index = base62(); index != 0) {
      print(" + ");
      lifetime(index);
    }
  }

  // Associated types join the trait's own arguments: dyn Iterator<Item = u8>.
  void dynamic_trait() {
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

  // True: its "<" is still open.
  bool trait_path() {
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

  void pattern() {
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

  // `context` Value: already inside an expression; otherwise all but literals need braces.
  void constant(Context context) {
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

  void structure() {
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

  void integer() {
    std::string_view digits = hex_digits();
    if (digits.empty()) return fail();
    if (const std::optional<std::uint64_t> value = number_of(digits)) return print_number(*value);
    digits.remove_prefix(digits.find_first_not_of('0'));
    print("0x");
    print(digits);
  }

  void escaped(std::uint32_t point, char quote) {
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

  void string_literal() {
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

  std::string out_;
  std::uint64_t bound_lifetimes_ = 0;
  unsigned depth_ = 0;
  unsigned steps_ = 0;
  bool printing_ = true;
};

}  // namespace

std::optional<std::string> demangle_rust_v0(std::string_view name) {
  if (!name.starts_with("_R")) return std::nullopt;
  name.remove_prefix(2);
  for (const char c : name) {
    if (!is_digit(c) && !is_upper(c) && !is_lower(c) && c != '_') return std::nullopt;
  }
  return Demangler(name).run();
}

}  // namespace tare::core
