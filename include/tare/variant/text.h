// tare/variant/text.h: values as text, GVariant's text format: printed and parsed.
//
//   tare::variant::Output text;
//   print(text, view, tare::variant::TypeAnnotations::Print);      // {'size': <uint32 7>, 'name': <'tare'>}
//
//   tare::variant::Output out;
//   auto parsed = tare::variant::parse(out, "{'size': <uint32 7>}");
//   if (parsed) use(parsed.view());                                // type a{sv}
//   else std::fputs(parsed.error().context("{'size': <uint32 7>}").c_str(), stderr); // unable to find a common type:
//                                                                  //   [1, 2, 3, 'str']
//                                                                  //    ^        ^^^^^
//
//   parse(out, "[]", tare::variant::Type("as"));                   // for who knows the type
//
// The grammar: true false; numbers as C has them (0x 0 . e inf nan); 'text' and "text" with C's escapes and \uXXXX
// \UXXXXXXXX; b'bytes' with octal escapes, for ay with a zero behind; [a, b]; (a, b) and (a,); {k: v, k: v}; {k, v} for
// an entry alone; <v>; just v, nothing, and v alone for a maybe; @type v; and byte, int16, uint32, handle, objectpath,
// signature, ... before a value. A type is inferred from all elements of an array together; of a dictionary from all
// keys and the first value. Undetermined numbers are i, and texts s.
//
// Both follow GLib to the byte: g_variant_print() prints the same and g_variant_parse() makes the same values and
// messages. Where GLib's parser calls it a bug of the caller (texts that aren't UTF-8), here it is an error as well.
//
// Limits: kDeepest levels, texts below 4 GiB. Both take linear time and memory: a tree of some 60 bytes a value is
// kept while parsing. Nothing throws: parse() reports a lack of memory, also where the
// library is built without exceptions (the parser has its own inside). Any thread may call.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tare/internal/export.h"
#include "tare/variant/dbus_view.h"
#include "tare/variant/output.h"
#include "tare/variant/type.h"
#include "tare/variant/view.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

// Whether types that a reader couldn't infer are printed.
enum class TypeAnnotations : std::uint8_t { Print, Omit };

// Prints `value` to `out`, from its beginning: UTF-8, no zero behind. Values in variants are always printed so that
// their types can be inferred. Only memory can fail.
TARE_API Written print(Output& out, const View& value, TypeAnnotations annotations = TypeAnnotations::Print) noexcept;
// The same for a D-Bus value; a message's body is printed as a tuple.
TARE_API Written print(Output& out, const DBusView& value,
                       TypeAnnotations annotations = TypeAnnotations::Print) noexcept;

// Why a text can't be parsed. Names and meanings are those of GVariantParseError, but for the last two.
enum class TextError : std::uint8_t {
  None,
  BasicTypeExpected,
  CannotInferType,
  DefiniteTypeExpected,
  InputNotAtEnd,
  InvalidCharacter,
  InvalidObjectPath,
  InvalidSignature,
  InvalidTypeString,
  NoCommonType,
  NumberOutOfRange,
  NumberTooBig,
  TypeError,
  UnexpectedToken,
  UnknownKeyword,
  UnterminatedString,
  ValueExpected,
  Recursion,
  Unwritable,  // the value is understood and can't be written: text that isn't UTF-8, the caller's buffer is too small
  NoMemory     // for the tree, or the text is too long
};

// Bytes of a text, from `begin` to before `end`; a point where both are the same.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

struct TARE_API ParseError {
  TextError reason = TextError::None;
  TextRange where;
  std::optional<TextRange> other;  // of two that contradict each other; the later one
  std::string message;             // without the place: "unknown keyword"

  // One line: "3-7:unknown keyword", as GError's message.
  std::string line() const;
  // The message, the text's lines it is about and marks below them, each line ended: as
  // g_variant_parse_error_print_context().
  std::string context(std::string_view text) const;
};

// A parsed value, or why there is none.
class ParsedText {
 public:
  ParsedText(std::string type, std::string_view bytes, std::size_t end, std::endian order) noexcept
      : type_(std::move(type)), bytes_(bytes), end_(end), order_(order) {}
  explicit ParsedText(ParseError error) noexcept : error_(std::move(error)) {}

  explicit operator bool() const noexcept { return error_.reason == TextError::None; }
  const ParseError& error() const noexcept { return error_; }

  // The value. Valid as long as this and the Output's content.
  View view() const noexcept { return View(type(), bytes_, order_).trusting_normal_form(); }
  Type type() const noexcept { return Type::trusted(type_); }
  std::string_view bytes() const noexcept { return bytes_; }
  // Where the value ended in the text.
  std::size_t end() const noexcept { return end_; }

 private:
  std::string type_ = "()";
  std::string_view bytes_;
  std::size_t end_ = 0;
  std::endian order_ = std::endian::native;
  ParseError error_;
};

// The permitted text after the value.
enum class Rest : std::uint8_t {
  Refused,  // spaces only
  Ignored   // anything: ParsedText::end() has the place
};

// Parses `text`, of which a zero is the end, and writes the value to `out` from its beginning, in normal form. Of
// `type` if there's one: fewer texts are then ambiguous.
TARE_API ParsedText parse(Output& out, std::string_view text, std::optional<Type> type = std::nullopt,
                          Rest rest = Rest::Refused, std::endian order = std::endian::native) noexcept;

}  // namespace tare::inline TARE_ABI::variant
