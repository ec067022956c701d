// tare/variant/type.h: type strings such as "a{sv}": checked, walked and measured, by the compiler or at run time.
//
//   constexpr tare::variant::Type kSettings("a{sv}");          // a wrong string doesn't compile
//   if (auto type = tare::variant::Type::parse(text)) use(*type);   // untrusted text
//   kSettings.element().text();                                // "{sv}"
//   kSettings.layout();                                        // alignment 8, no fixed size
//
// A Type is a complete, definite type of GVariant: y b n q i u x t h d s o g v, a and m before a type, ( ) around any
// number of types, { } around a basic one and another. Its text isn't copied: the maker of a Type keeps it alive, as
// with std::string_view. There is no table of types, no lock and no memory: walking the few characters of a type costs
// less than finding it in a table (GLib's table took 12 % of building a dictionary, and its lock more).
//
// Limits: kDeepest levels; D-Bus has narrower ones, see is_dbus_signature(). Nothing here throws or allocates; any
// thread may use anything.
//
// The grammar is GVariant's and D-Bus's; alignments and sizes are those of GVariant's serialization.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

// The largest depth of a type, or of a value with the contents of its variants.
inline constexpr std::size_t kDeepest = 128;

// Where values of a type begin and how long they are.
struct Layout {
  std::size_t fixed_size;  // bytes; 0 for types whose values differ in size
  std::size_t alignment;   // 1, 2, 4 or 8: where values begin, from the beginning of the whole
};

namespace type_details {

// The facts about a type in one character of its string: bits.
inline constexpr std::uint8_t kAlignments = 15;  // 1, 2, 4, 8
inline constexpr std::uint8_t kVariable = 16;    // values differ in size
inline constexpr std::uint8_t kBasic = 32;       // may be a key
inline constexpr std::uint8_t kPrefix = 64;      // a type follows
inline constexpr std::uint8_t kBool = 128;       // not all its bytes are valid

inline constexpr std::array<std::uint8_t, 256> kCodes = [] {
  std::array<std::uint8_t, 256> codes{};
  for (const char c : {'y', 'b'}) codes[static_cast<unsigned char>(c)] = 1 | kBasic;
  for (const char c : {'n', 'q'}) codes[static_cast<unsigned char>(c)] = 2 | kBasic;
  for (const char c : {'i', 'u', 'h'}) codes[static_cast<unsigned char>(c)] = 4 | kBasic;
  for (const char c : {'x', 't', 'd'}) codes[static_cast<unsigned char>(c)] = 8 | kBasic;
  for (const char c : {'s', 'o', 'g'}) codes[static_cast<unsigned char>(c)] = 1 | kVariable | kBasic;
  for (const char c : {'a', 'm'}) codes[static_cast<unsigned char>(c)] = kVariable | kPrefix;
  codes['b'] |= kBool;
  codes['v'] = 8 | kVariable;
  return codes;
}();
constexpr std::uint8_t code_bits(char code) { return kCodes[static_cast<unsigned char>(code)]; }
// A number, a text or a variant: a type of one character.
constexpr bool is_leaf(char code) { return code_bits(code) != 0 && (code_bits(code) & kPrefix) == 0; }

// Of a valid type: where it ends and the bits of all its characters. The alignment is the highest of theirs, and the
// size is fixed if none is variable: one walk, no recursion.
struct Shape {
  const char* end;
  unsigned bits;

  constexpr std::size_t alignment() const { return std::bit_floor((bits & kAlignments) | 1U); }
  constexpr bool is_variable() const { return (bits & kVariable) != 0; }
};
constexpr Shape shape_at(const char* at) {
  unsigned bits = 0;
  for (unsigned open = 0;;) {
    const char code = *at++;
    bits |= code_bits(code);
    if (code == '(' || code == '{') {
      ++open;
    } else if (code == ')' || code == '}') {
      --open;
    } else if (code == 'a' || code == 'm') {
      continue;
    }
    if (open == 0) return {at, bits};
  }
}
constexpr const char* skip(const char* at) { return shape_at(at).end; }

// Of a valid type at `at`, which is moved behind it.
constexpr Layout layout_at(const char*& at) {
  const unsigned bits = code_bits(*at);
  if ((bits & kPrefix) != 0 || *at == 'v') {
    const Shape shape = shape_at(at);
    at = shape.end;
    return {0, shape.alignment()};
  }
  if ((bits & kVariable) != 0) return ++at, Layout{0, 1};
  if (bits != 0) return ++at, Layout{bits & kAlignments, bits & kAlignments};
  std::size_t size = 0;
  std::size_t alignment = 1;
  bool is_fixed = true;
  bool is_empty = true;
  for (++at; *at != ')' && *at != '}'; is_empty = false) {
    const Layout member = layout_at(at);
    if (member.alignment > alignment) alignment = member.alignment;
    is_fixed = is_fixed && member.fixed_size != 0;
    size = ((size + member.alignment - 1) & ~(member.alignment - 1)) + member.fixed_size;
  }
  ++at;
  if (!is_fixed) return {0, alignment};
  return {is_empty ? 1 : (size + alignment - 1) & ~(alignment - 1), alignment};
}

// Not constexpr: a literal that leads here doesn't compile, and the compiler names this.
inline void not_a_complete_and_definite_type_string() {}

enum class Indefinite : std::uint8_t { Refused, Accepted };  // the patterns * ? r

// Finds the end of the type at text[at]; npos if there is none. `depth` is set to its levels (a basic one has 1).
constexpr std::size_t scan(std::string_view text, std::size_t at, Indefinite indefinite, std::size_t& depth,
                           std::size_t levels_left = kDeepest) {
  constexpr std::size_t kNone = std::string_view::npos;
  depth = 0;
  if (at >= text.size()) return kNone;
  const char code = text[at++];
  if ((code_bits(code) & kPrefix) != 0) {
    at = levels_left == 0 ? kNone : scan(text, at, indefinite, depth, levels_left - 1);
    ++depth;
    return at;
  }
  if (code == '(') {
    std::size_t deepest = 0;
    while (at < text.size() && text[at] != ')') {
      at = levels_left == 0 ? kNone : scan(text, at, indefinite, depth, levels_left - 1);
      if (at == kNone) return kNone;
      if (depth + 1 > deepest) deepest = depth + 1;
    }
    depth = deepest;
    return at < text.size() ? at + 1 : kNone;
  }
  if (code == '{') {
    if (at >= text.size() || levels_left == 0) return kNone;
    const char key = text[at++];
    if ((code_bits(key) & kBasic) == 0 && !(key == '?' && indefinite == Indefinite::Accepted)) return kNone;
    at = scan(text, at, indefinite, depth, levels_left - 1);
    ++depth;
    return at != kNone && at < text.size() && text[at] == '}' ? at + 1 : kNone;
  }
  depth = 1;
  if (code == '*' || code == '?' || code == 'r') return indefinite == Indefinite::Accepted ? at : kNone;
  return code == 'v' || (code_bits(code) & kBasic) != 0 ? at : kNone;
}

}  // namespace type_details

// Whether `text` is one complete, definite type.
constexpr bool is_type(std::string_view text) {
  std::size_t depth = 0;
  return type_details::scan(text, 0, type_details::Indefinite::Refused, depth) == text.size();
}

// The same, with the patterns that stand for several types: * for any, ? for a basic one, r for any tuple.
constexpr bool is_type_pattern(std::string_view text) {
  std::size_t depth = 0;
  return type_details::scan(text, 0, type_details::Indefinite::Accepted, depth) == text.size();
}

// Whether `type` is `pattern` or one of those it stands for. Both must be valid; a type always matches itself, which
// one comparison finds.
constexpr bool matches(std::string_view type, std::string_view pattern) {
  if (type == pattern) return true;
  const char* at = type.data();
  const char* end = at + type.size();
  for (const char wanted : pattern) {
    if (at == end) return false;
    const char code = *at;
    if (wanted == code) {
      ++at;
    } else if (wanted == '*' || (wanted == 'r' && code == '(')) {
      if (code == ')' || code == '}') return false;
      at = type_details::skip(at);
    } else if (wanted == '?' && (type_details::code_bits(code) & type_details::kBasic) != 0) {
      ++at;
    } else {
      return false;
    }
  }
  return at == end;
}

// True if D-Bus accepts `text` as a signature: any number of types of at most 255 characters in all, without maybe and
// empty structs, entries in arrays only, at most 32 arrays and 32 structs in each other.
constexpr bool is_dbus_signature(std::string_view text);

class Type {
 public:
  // A literal, checked by the compiler.
  template <std::size_t kSize>
  consteval Type(const char (&text)[kSize])  // NOLINT(google-explicit-constructor): a literal is a type
      : text_(text), size_(kSize - 1) {
    if (!is_type({text, kSize - 1})) type_details::not_a_complete_and_definite_type_string();
  }

  // Nothing if `text` isn't one complete, definite type.
  static constexpr std::optional<Type> parse(std::string_view text) {
    if (!is_type(text)) return std::nullopt;
    return Type(text.data(), text.size());
  }

  // `text` must be known to be a type.
  static constexpr Type trusted(std::string_view text) { return {text.data(), text.size()}; }

  constexpr std::string_view text() const { return {text_, size_}; }
  constexpr const char* data() const { return text_; }
  constexpr std::size_t size() const { return size_; }
  constexpr char code() const { return *text_; }  // the first character says what it is; ( and { for tuple and entry

  constexpr bool is_basic() const { return (type_details::code_bits(code()) & type_details::kBasic) != 0; }
  constexpr bool is_container() const { return !is_basic(); }
  constexpr bool is_dictionary() const { return code() == 'a' && text_[1] == '{'; }

  constexpr Layout layout() const {
    const char* at = text_;
    return type_details::layout_at(at);
  }

  // Levels: 1 for a basic type or a variant, 0 for (), one more than the deepest inside for other containers.
  constexpr std::size_t depth() const {
    std::size_t depth = 0;
    type_details::scan(text(), 0, type_details::Indefinite::Refused, depth);
    return depth;
  }

  // Of an array or a maybe: the type of its content.
  constexpr Type element() const { return {text_ + 1, size_ - 1u}; }

  // Of an entry: the types of key and value.
  constexpr Type key() const { return {text_ + 1, 1}; }
  constexpr Type value() const { return {text_ + 2, size_ - 3u}; }

  // Of a tuple: its members. `first` is empty for (), `next(m)` behind the last one.
  constexpr std::optional<Type> first() const { return member_at(text_ + 1); }
  constexpr std::optional<Type> next(Type member) const { return member_at(member.text_ + member.size_); }
  constexpr std::size_t member_count() const {
    std::size_t count = 0;
    for (const char* at = text_ + 1; at != text_ + size_ - 1; at = type_details::skip(at)) ++count;
    return count;
  }

  friend constexpr bool operator==(Type a, Type b) { return a.text() == b.text(); }

 private:
  constexpr Type(const char* text, std::size_t size) : text_(text), size_(static_cast<std::uint32_t>(size)) {}
  constexpr std::optional<Type> member_at(const char* at) const {
    if (*at == ')' || *at == '}') return std::nullopt;
    return Type(at, static_cast<std::size_t>(type_details::skip(at) - at));
  }

  const char* text_;
  std::uint32_t size_;
};

// A type string as a template's argument: Writer<"a{sv}">.
template <std::size_t kSize>
struct TypeText {
  char text[kSize] = {};

  constexpr TypeText() = default;
  constexpr TypeText(const char (&literal)[kSize]) {  // NOLINT(google-explicit-constructor): Writer<"a{sv}">
    for (std::size_t i = 0; i < kSize; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
  constexpr char operator[](std::size_t index) const { return text[index]; }
  constexpr std::size_t size() const { return kSize - 1; }
};

namespace type_details {

// The part of kText from kFrom on, as a TypeText of its own.
template <TypeText kText, std::size_t kFrom, std::size_t kCount>
consteval TypeText<kCount + 1> part() {
  TypeText<kCount + 1> result;
  for (std::size_t i = 0; i < kCount; ++i) result.text[i] = kText.text[kFrom + i];
  return result;
}

constexpr bool is_dbus_type(std::string_view text, std::size_t& at, int arrays_left, int structs_left, bool in_array) {
  if (at >= text.size()) return false;
  const char code = text[at++];
  if (code == 'a') return arrays_left > 0 && is_dbus_type(text, at, arrays_left - 1, structs_left, true);
  if (code == '(') {
    if (structs_left == 0 || at >= text.size() || text[at] == ')') return false;
    while (at < text.size() && text[at] != ')') {
      if (!is_dbus_type(text, at, arrays_left, structs_left - 1, false)) return false;
    }
    return at++ < text.size();
  }
  if (code == '{') {
    if (!in_array || structs_left == 0 || at >= text.size() || (code_bits(text[at]) & kBasic) == 0) return false;
    ++at;
    if (!is_dbus_type(text, at, arrays_left, structs_left - 1, false) || at >= text.size()) return false;
    return text[at++] == '}';
  }
  return code == 'v' || (code_bits(code) & kBasic) != 0;
}

}  // namespace type_details

inline constexpr std::size_t kLongestDBusSignature = 255;

constexpr bool is_dbus_signature(std::string_view text) {
  if (text.size() > kLongestDBusSignature) return false;
  for (std::size_t at = 0; at < text.size();) {
    if (!type_details::is_dbus_type(text, at, 32, 32, false)) return false;
  }
  return true;
}

}  // namespace tare::inline TARE_ABI::variant
