// Prints values in GVariant's text format.
#include <charconv>
#include <cstring>
#include <type_traits>

#include "lib/variant/text_printable.h"
#include "tare/variant/text.h"

namespace tare::inline TARE_ABI::variant {
namespace {

std::string_view type_of(const View& value) { return value.type().text(); }
std::string_view type_of(const DBusView& value) { return value.type_text(); }
std::string_view elements_of(const View& value) { return value.bytes(); }
std::string_view elements_of(const DBusView& value) { return value.element_bytes(); }

class Printer {
 public:
  explicit Printer(Output& out) noexcept : out_(out) { out.clear(); }

  template <typename AnyView>
  void print(const AnyView& value, TypeAnnotations annotations) noexcept;
  Written end() const noexcept {
    return has_failed_ ? Written(out_.why_not()) : Written(out_.bytes().data(), out_.size());
  }

 private:
  void add(std::string_view text) noexcept {
    const std::size_t size = out_.size();
    if (has_failed_ || !out_.reserve_amortized(size + text.size())) {
      has_failed_ = true;
      return;
    }
    if (!text.empty()) std::memcpy(out_.data() + size, text.data(), text.size());
    out_.set_size(size + text.size());
  }
  void add(char c) noexcept { add({&c, 1}); }

  template <typename Number>
  void add_number(Number number) noexcept {
    char digits[24];
    add({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
  }
  void add_keyword(std::string_view keyword, TypeAnnotations annotations) noexcept {
    if (annotations == TypeAnnotations::Print) add(keyword);
  }
  void add_type(std::string_view type, TypeAnnotations annotations) noexcept {
    if (annotations == TypeAnnotations::Omit) return;
    add('@');
    add(type);
    add(' ');
  }
  void add_quoted_plainly(std::string_view text) noexcept {
    add('\'');
    add(text);
    add('\'');
  }
  // `digits` digits, the highest first.
  void add_digits(unsigned number, int digits, unsigned bits_each) noexcept {
    while (digits-- > 0) {
      add("0123456789abcdef"[number >> (static_cast<unsigned>(digits) * bits_each) & ((1U << bits_each) - 1)]);
    }
  }

  void print_text(std::string_view text) noexcept;
  void print_bytes(std::string_view bytes) noexcept;
  void print_double(double number) noexcept;
  void print_maybe(const View& value, TypeAnnotations annotations) noexcept;
  template <typename AnyView>
  void print_array(const AnyView& value, TypeAnnotations annotations) noexcept;

  Output& out_;
  bool has_failed_ = false;
};

// The character behind the backslash for a control character with a name of its own; 0 for others.
char escape_of(char32_t c) {
  switch (c) {
    case '\a':
      return 'a';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    default:
      return 0;
  }
}

// Of UTF-8 that is known to be so: the character at `at`, which is moved behind it.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return text[at++];
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t character = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) character = character << 6 | (byte(i) & 0x3FU);
  at += size;
  return character;
}

void Printer::print_text(std::string_view text) noexcept {
  const char quote = text.find('\'') == std::string_view::npos ? '\'' : '"';
  add(quote);
  std::size_t plain = 0;  // the beginning of the piece that is copied at once
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    const bool is_marked = c == static_cast<unsigned char>(quote) || c == '\\';
    if (!is_marked && (c >= 0x20 && c < 0x7F ? true : is_printable(c))) continue;
    add(text.substr(plain, begin - plain));
    add('\\');
    if (is_marked) {
      add(static_cast<char>(c));
    } else if (const char letter = escape_of(c); letter != 0) {
      add(letter);
    } else {
      add(c < 0x10000 ? 'u' : 'U');
      add_digits(c, c < 0x10000 ? 4 : 8, 4);
    }
    plain = at;
  }
  add(text.substr(plain));
  add(quote);
}

void Printer::print_bytes(std::string_view bytes) noexcept {
  const char quote = bytes.find('\'') == std::string_view::npos ? '\'' : '"';
  add('b');
  add(quote);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '"') {
      add('\\');
      add(c);
    } else if (const char letter = escape_of(byte); letter != 0 && c != '\a') {
      add('\\');
      add(letter);
    } else if (byte < 0x20 || byte >= 0x7F) {
      add('\\');
      add_digits(byte, 3, 3);
    } else {
      add(c);
    }
  }
  add(quote);
}

void Printer::print_double(double number) noexcept {
  char digits[40];
  const char* end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 17).ptr;
  const std::string_view text(digits, end);
  add(text);
  if (text.find_first_of(".en") == std::string_view::npos) add(".0");  // n: of inf and nan
}

// `just 4` is printed as 4 if the type is clear; only `just nothing` needs its word, to differ from `nothing`.
void Printer::print_maybe(const View& value, TypeAnnotations annotations) noexcept {
  add_type(value.type().text(), annotations);
  View inside = value;
  int levels = 0;
  while (inside.code() == 'm' && inside.child_count() != 0) {
    inside = inside.child(0);
    ++levels;
  }
  if (inside.code() != 'm') return print(inside, TypeAnnotations::Omit);
  while (levels-- > 0) add("just ");
  add("nothing");
}

template <typename AnyView>
void Printer::print_array(const AnyView& value, TypeAnnotations annotations) noexcept {
  const std::string_view type = type_of(value);
  const char element = type[1];
  if (element == 'y') {
    const std::string_view bytes = elements_of(value);
    if (!bytes.empty() && bytes.find('\0') == bytes.size() - 1) return print_bytes(bytes.substr(0, bytes.size() - 1));
  }
  const bool is_dictionary = element == '{';
  bool is_first = true;
  for (const AnyView& child : value) {
    if (has_failed_) return;
    add(!is_first ? ", " : is_dictionary ? "{" : "[");
    is_first = false;
    if (is_dictionary) {
      print(child.key(), annotations);
      add(": ");
      print(child.value(), annotations);
    } else {
      print(child, annotations);
    }
    annotations = TypeAnnotations::Omit;  // the first annotates all
  }
  if (is_first) {
    add_type(type, annotations);
    add(is_dictionary ? "{" : "[");
  }
  add(is_dictionary ? '}' : ']');
}

template <typename AnyView>
void Printer::print(const AnyView& value, TypeAnnotations annotations) noexcept {
  switch (value.code()) {
    case 'b':
      return add(value.as_bool() ? "true" : "false");
    case 'y':
      add_keyword("byte ", annotations);
      add("0x");
      return add_digits(value.as_byte(), 2, 4);
    case 'n':
      add_keyword("int16 ", annotations);
      return add_number(value.as_int16());
    case 'q':
      add_keyword("uint16 ", annotations);
      return add_number(value.as_uint16());
    case 'i':
      return add_number(value.as_int32());
    case 'u':
      add_keyword("uint32 ", annotations);
      return add_number(value.as_uint32());
    case 'h':
      add_keyword("handle ", annotations);
      return add_number(static_cast<std::int32_t>(value.as_handle().index));
    case 'x':
      add_keyword("int64 ", annotations);
      return add_number(value.as_int64());
    case 't':
      add_keyword("uint64 ", annotations);
      return add_number(value.as_uint64());
    case 'd':
      return print_double(value.as_double());
    case 's':
      return print_text(value.text());
    case 'o':
      add_keyword("objectpath ", annotations);
      return add_quoted_plainly(value.text());
    case 'g':
      add_keyword("signature ", annotations);
      return add_quoted_plainly(value.text());
    case 'v':
      add('<');
      print(value.inside(), TypeAnnotations::Print);
      return add('>');
    case 'm':
      if constexpr (std::is_same_v<AnyView, View>) print_maybe(value, annotations);  // D-Bus has none
      return;
    case 'a':
      return print_array(value, annotations);
    default: {
      const bool is_entry = value.code() == '{';
      add(is_entry ? '{' : '(');
      std::size_t count = 0;
      for (const AnyView& child : value) {
        if (count++ > 0) add(", ");
        print(child, annotations);
      }
      if (count == 1) add(',');
      return add(is_entry ? '}' : ')');
    }
  }
}

}  // namespace

Written print(Output& out, const View& value, TypeAnnotations annotations) noexcept {
  Printer printer(out);
  printer.print(value, annotations);
  return printer.end();
}

Written print(Output& out, const DBusView& value, TypeAnnotations annotations) noexcept {
  Printer printer(out);
  printer.print(value, annotations);
  return printer.end();
}

}  // namespace tare::inline TARE_ABI::variant
