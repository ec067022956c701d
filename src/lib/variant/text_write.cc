// Writes a tree's values with the types they are to have: errors of numbers and types are found here.
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <deque>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "lib/variant/text_tokens.h"
#include "lib/variant/text_tree.h"
#include "tare/variant/builder.h"
#include "tare/variant/text_rules.h"

namespace tare::inline TARE_ABI::variant {
namespace text_details {
namespace {

using type_details::Shape;

// The integer at the beginning of a number without a fraction.
struct Integer {
  std::uint64_t magnitude = 0;
  bool is_negative = false;
  bool is_too_big = false;  // for 64 bits
  std::size_t end = 0;      // where it ended in the token
};

// As C's strtoull with base 0, a second sign behind the - included: it wraps around.
Integer read_integer(std::string_view token) {
  Integer result;
  result.is_negative = token[0] == '-';
  const std::size_t begin = result.is_negative ? 1 : 0;
  std::size_t at = begin;
  const bool is_negated = at < token.size() && token[at] == '-';
  if (at < token.size() && (token[at] == '-' || token[at] == '+')) ++at;
  const auto digit_at = [&](std::size_t i) -> unsigned {
    if (i >= token.size()) return 99;
    const char c = token[i];
    if (is_digit(c)) return static_cast<unsigned>(c - '0');
    return is_letter(c) ? static_cast<unsigned>((c | 0x20) - 'a') + 10 : 99;
  };
  unsigned base = 10;
  if (digit_at(at) == 0) {
    base = 8;
    if (at + 1 < token.size() && (token[at + 1] | 0x20) == 'x' && digit_at(at + 2) < 16) {
      base = 16;
      at += 2;
    }
  }
  if (digit_at(at) >= base) {
    result.is_negative = false;  // - alone is 0
    result.end = begin;
    return result;
  }
  for (; digit_at(at) < base; ++at) {
    std::uint64_t more = 0;
    result.is_too_big = result.is_too_big || __builtin_mul_overflow(result.magnitude, base, &more) ||
                        __builtin_add_overflow(more, digit_at(at), &more);
    result.magnitude = more;
  }
  if (is_negated) result.magnitude = 0 - result.magnitude;
  if (result.magnitude == 0) result.is_negative = false;
  result.end = at;
  return result;
}

class Writing {
 public:
  Writing(const Tree& tree, Output& out, Type type, std::endian order)
      : tree_(tree), builder_(out, type, order), type_(type) {}

  std::optional<ParseError> run(Written& written) {
    measure(type_);
    if (!write(tree_.root, type_.data())) return std::move(error_);
    written = builder_.end();
    if (!written) return unwritable(tree_.root);
    return std::nullopt;
  }

 private:
  bool write(std::uint32_t node, const char* type);
  bool write_base(const Node& node, const char* type);
  bool write_parts(const Node& node, const char* type);
  bool write_dictionary(const Node& node, const char* type);
  bool write_variant(const Node& node);
  bool write_number(const Node& node, const char* type);
  bool write_double(const Node& node);
  bool write_text(const Node& node, char code);
  bool write_bytes(const Node& node);

  // Where parts of the type end, each walked once for all values that have it: else an array of a million short
  // values with a long type took a million long walks.
  void measure(Type type);
  const Shape& shape(const char* at) const {
    return shapes_[shapes_begin_ + static_cast<std::size_t>(at - type_.data())];
  }
  bool open(const char* type) { return builder_.open(shape(*type == '(' || *type == '{' ? type : type + 1)); }

  bool fail(TextError reason, TextRange where, std::string message) {
    error_.reason = reason;
    error_.where = where;
    error_.other.reset();
    error_.message.swap(message);  // gcc 11 at -O3 warns of an assignment that it inlines
    return false;
  }
  bool wrong_type(const Node& node, const char* type) {
    return fail(TextError::TypeError, range_of(node),
                "can not parse as value of type '" + std::string(type, shape(type).end) + "'");
  }
  ParseError unwritable(std::uint32_t node) const {
    const WriteError why = builder_.error();
    const TextError reason = why == WriteError::OutOfMemory ? TextError::NoMemory
                             : why == WriteError::TooDeep   ? TextError::Recursion
                                                            : TextError::Unwritable;
    return {reason, range_of(tree_[node]), std::nullopt, std::string(describe(why))};
  }

  const Tree& tree_;
  Builder builder_;
  Type type_;  // the type for shapes_: the whole, or the content of the innermost variant
  std::vector<Shape> shapes_;
  std::size_t shapes_begin_ = 0;
  std::deque<std::string> inferred_;  // types in variants, which the Builder needs to the end
  std::string token_;                 // a number, with the zero that strtod needs
  ParseError error_;
};

void Writing::measure(Type type) {
  type_ = type;
  shapes_begin_ = shapes_.size();
  shapes_.resize(shapes_begin_ + type.size());
  for (std::size_t i = type.size(); i-- > 0;) {
    const char* at = type.data() + i;
    Shape& result = shapes_[shapes_begin_ + i];
    result = {at + 1, type_details::code_bits(*at)};
    if ((result.bits & type_details::kPrefix) != 0) {
      result = {shape(at + 1).end, result.bits | shape(at + 1).bits};
    } else if (*at == '(' || *at == '{') {
      const char* member = at + 1;
      while (*member != ')' && *member != '}') {
        result.bits |= shape(member).bits;
        member = shape(member).end;
      }
      result.end = member + 1;
    }
  }
}

bool Writing::write_double(const Node& node) {
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  token_.assign(node.text);
  char* end = nullptr;
  errno = 0;
  const double number = ::strtod_l(token_.c_str(), &end, plain);
  if (number != 0 && errno == ERANGE) {
    return fail(TextError::NumberTooBig, range_of(node), "number too big for any type");
  }
  if (*end != 0) {
    const std::size_t at = node.begin + static_cast<std::size_t>(end - token_.c_str());
    return fail(TextError::InvalidCharacter, {at, at + 1}, "invalid character in number");
  }
  return builder_.add_double(number);
}

bool Writing::write_number(const Node& node, const char* type) {
  if (*type == 'd') return write_double(node);
  const Integer number = read_integer(node.text);
  if (number.is_too_big) return fail(TextError::NumberTooBig, range_of(node), "integer too big for any type");
  if (number.end != node.text.size()) {
    const std::size_t at = node.begin + number.end;
    return fail(TextError::InvalidCharacter, {at, at + 1}, "invalid character in number");
  }
  const std::uint64_t magnitude = number.magnitude;
  // true if it fits: up to `highest`, and negative numbers down to one more
  const auto fits = [&](std::uint64_t highest) { return magnitude - (number.is_negative ? 1 : 0) <= highest; };
  const auto fits_unsigned = [&](std::uint64_t highest) { return !number.is_negative && magnitude <= highest; };
  const auto value = static_cast<std::int64_t>(number.is_negative ? 0 - magnitude : magnitude);
  const auto highest_of = []<typename Number>(Number) {
    return static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  };
  bool is_in_range = false;
  switch (*type) {
    case 'y':
      is_in_range = fits_unsigned(highest_of(std::uint8_t{}));
      if (is_in_range) return builder_.add_byte(static_cast<std::uint8_t>(value));
      break;
    case 'n':
      is_in_range = fits(highest_of(std::int16_t{}));
      if (is_in_range) return builder_.add_int16(static_cast<std::int16_t>(value));
      break;
    case 'q':
      is_in_range = fits_unsigned(highest_of(std::uint16_t{}));
      if (is_in_range) return builder_.add_uint16(static_cast<std::uint16_t>(value));
      break;
    case 'i':
      is_in_range = fits(highest_of(std::int32_t{}));
      if (is_in_range) return builder_.add_int32(static_cast<std::int32_t>(value));
      break;
    case 'u':
      is_in_range = fits_unsigned(highest_of(std::uint32_t{}));
      if (is_in_range) return builder_.add_uint32(static_cast<std::uint32_t>(value));
      break;
    case 'x':
      is_in_range = fits(highest_of(std::int64_t{}));
      if (is_in_range) return builder_.add_int64(value);
      break;
    case 't':
      is_in_range = !number.is_negative;
      if (is_in_range) return builder_.add_uint64(magnitude);
      break;
    case 'h':
      is_in_range = fits(highest_of(std::int32_t{}));
      if (is_in_range) return builder_.add_handle({static_cast<std::uint32_t>(value)});
      break;
    default:
      return wrong_type(node, type);
  }
  return fail(TextError::NumberOutOfRange, range_of(node), std::string("number out of range for type '") + *type + "'");
}

bool Writing::write_text(const Node& node, char code) {
  if (code == 'o' && !is_object_path(node.text)) {
    return fail(TextError::InvalidObjectPath, range_of(node), "not a valid object path");
  }
  if (code == 'g' && !is_signature(node.text)) {
    return fail(TextError::InvalidSignature, range_of(node), "not a valid signature");
  }
  return builder_.add_text(node.text);
}

bool Writing::write_bytes(const Node& node) {
  if (!builder_.open()) return false;
  for (const char byte : node.text.substr(0, node.text.find('\0'))) {  // a zero ends it, as C's strings
    if (!builder_.add_byte(static_cast<std::uint8_t>(byte))) return false;
  }
  return builder_.add_byte(0) && builder_.close();
}

bool Writing::write_parts(const Node& node, const char* type) {
  const bool is_array = *type == 'a';
  const char* part = type + 1;
  if (!open(type)) return false;
  for (std::uint32_t child = node.first; child != kNone; child = tree_[child].next) {
    if (*part == ')' || *part == '}') return wrong_type(node, type);
    if (!write(child, part)) return false;
    if (!is_array) part = shape(part).end;
  }
  if (!is_array && *part != ')' && *part != '}') return wrong_type(node, type);
  return builder_.close();
}

bool Writing::write_dictionary(const Node& node, const char* type) {
  if (!open(type)) return false;
  const char* entry = type + 1;
  for (std::uint32_t child = node.first; child != kNone; child = tree_[child].next) {
    if (!open(entry) || !write(child, entry + 1)) return false;
    child = tree_[child].next;
    if (!write(child, entry + 2) || !builder_.close()) return false;
  }
  return builder_.close();
}

bool Writing::write_variant(const Node& node) {
  std::string type;
  if (auto error = infer_type(tree_, node.first, type)) {
    error_ = std::move(*error);
    return false;
  }
  const Type inside = Type::trusted(inferred_.emplace_back(std::move(type)));
  if (!builder_.open_variant(inside)) return false;
  const Type outer = std::exchange(type_, inside);
  const std::size_t outer_begin = shapes_begin_;
  const std::size_t outer_size = shapes_.size();
  measure(inside);
  if (!write(node.first, inside.data())) return false;
  shapes_.resize(outer_size);
  shapes_begin_ = outer_begin;
  type_ = outer;
  return builder_.close();
}

bool Writing::write_base(const Node& node, const char* type) {
  switch (node.kind) {
    case Node::Kind::Array:
      return *type == 'a' ? write_parts(node, type) : wrong_type(node, type);
    case Node::Kind::Tuple:
      return *type == '(' ? write_parts(node, type) : wrong_type(node, type);
    case Node::Kind::Entry:
      return *type == '{' ? write_parts(node, type) : wrong_type(node, type);
    case Node::Kind::Dictionary:
      return *type == 'a' && type[1] == '{' ? write_dictionary(node, type) : wrong_type(node, type);
    case Node::Kind::Variant:
      return *type == 'v' ? write_variant(node) : wrong_type(node, type);
    case Node::Kind::Text:
      return *type == 's' || *type == 'o' || *type == 'g' ? write_text(node, *type) : wrong_type(node, type);
    case Node::Kind::Bytes:
      return *type == 'a' && type[1] == 'y' ? write_bytes(node) : wrong_type(node, type);
    case Node::Kind::Bool:
      return *type == 'b' ? builder_.add_bool(node.is_true) : wrong_type(node, type);
    default:
      return write_number(node, type);
  }
}

bool Writing::write(std::uint32_t index, const char* type) {
  const Node& node = tree_[index];
  bool is_written = false;
  if (node.kind == Node::Kind::Typed) {
    is_written = write(node.first, type);
  } else if (node.kind == Node::Kind::Maybe) {
    if (*type != 'm') return wrong_type(node, type);
    is_written = node.first == kNone ? builder_.add_nothing(shape(type + 1))
                                     : open(type) && write(node.first, type + 1) && builder_.close();
  } else {
    std::size_t maybes = 0;
    for (; *type == 'm'; ++type, ++maybes) {
      if (!open(type)) break;
    }
    is_written = builder_.error() == WriteError::None && write_base(node, type);
    for (; maybes > 0 && is_written; --maybes) is_written = builder_.close();
  }
  if (!is_written && error_.reason == TextError::None) error_ = unwritable(index);
  return is_written;
}

ParsedText parse_tree(Output& out, std::string_view text, std::optional<Type> type, Rest rest, std::endian order) {
  const std::string_view up_to_zero = text.substr(0, text.find('\0'));
  Tree tree;
  if (auto error = read_tree(up_to_zero, tree)) return ParsedText(std::move(*error));
  std::string type_text;
  if (type) {
    type_text = type->text();
  } else if (auto error = infer_type(tree, tree.root, type_text)) {
    return ParsedText(std::move(*error));
  }
  Written written(WriteError::None);
  if (auto error = Writing(tree, out, Type::trusted(type_text), order).run(written)) {
    return ParsedText(std::move(*error));
  }
  if (rest == Rest::Refused) {
    std::size_t at = tree.end;
    while (at < text.size() && is_space(text[at])) ++at;
    if (at < up_to_zero.size()) {
      return ParsedText({TextError::InputNotAtEnd, {at, at}, std::nullopt, "expected end of input"});
    }
  }
  return {std::move(type_text), written.bytes(), tree.end, order};
}

}  // namespace
}  // namespace text_details

ParsedText parse(Output& out, std::string_view text, std::optional<Type> type, Rest rest, std::endian order) noexcept {
  // A text has fewer values than bytes; their numbers have 32 bits.
  if (text.size() > std::numeric_limits<std::uint32_t>::max() / 4) {
    return ParsedText({TextError::NoMemory, {}, std::nullopt, "the text is too long"});
  }
  try {  // CMakeLists.txt compiles the parser's files with exceptions, even if the rest of the library has none
    return text_details::parse_tree(out, text, type, rest, order);
  } catch (const std::bad_alloc&) {
    return ParsedText({TextError::NoMemory, {}, std::nullopt, {}});
  }
}

}  // namespace tare::inline TARE_ABI::variant
