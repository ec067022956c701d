// The text format without a peer: what is printed and parsed, byte order, limits, and that time grows with size only.
#include "tare/variant/text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tare/variant/writer.h"

namespace tare::variant {
namespace {

std::string printed(const View& view, TypeAnnotations annotations = TypeAnnotations::Print) {
  Output out;
  return std::string(print(out, view, annotations).bytes());
}

// What `text` means, printed again; or the error.
std::string reprinted(std::string_view text, std::optional<Type> type = std::nullopt) {
  Output out;
  const ParsedText parsed = parse(out, text, type);
  return parsed ? printed(parsed.view()) : parsed.error().line();
}

TEST(VariantText, PrintsWhatWasWritten) {
  Output out;
  Writer<"a{sv}">::write(out, std::pair("size", 7u), std::pair("name", "tare"));
  const View view("a{sv}", out.bytes());
  EXPECT_EQ(printed(view), "{'size': <uint32 7>, 'name': <'tare'>}");
  EXPECT_EQ(printed(View("ay", ""), TypeAnnotations::Omit), "[]");
  EXPECT_EQ(printed(View("ay", "")), "@ay []");
}

TEST(VariantText, PrintsDBusValues) {
  Output out;
  const auto body = Writer<"(a{sv}ayx)", DBusFormat<>>::write(out, std::map<std::string, std::uint32_t>{{"a", 7}},
                                                              std::vector<std::uint8_t>{'x', 0}, 5);
  ASSERT_TRUE(body);
  const auto view = DBusView::parse_body("a{sv}ayx", body.bytes());
  ASSERT_TRUE(view.has_value());
  Output text;
  EXPECT_EQ(print(text, *view).bytes(), "({'a': <uint32 7>}, b'x', int64 5)");
  EXPECT_EQ(print(text, DBusView()).bytes(), "()");
}

TEST(VariantText, InfersOneTypeForAllElements) {
  EXPECT_EQ(reprinted("[1, nothing, just int64 3]"), "[@mx 1, nothing, 3]");
  EXPECT_EQ(reprinted("[[], ['/a'], [objectpath '/']]"), "[@ao [], ['/a'], ['/']]");
  EXPECT_EQ(reprinted("{'a': <1>, 'b': <[byte 1]>}"), "{'a': <1>, 'b': <[byte 0x01]>}");
  EXPECT_EQ(reprinted("[]"), "0-2:unable to infer type");
  EXPECT_EQ(reprinted("[]", Type("as")), "@as []");
}

TEST(VariantText, ErrorsSayWhere) {
  Output out;
  const std::string_view text = "[1, 2, 3, 'str']";
  const ParsedText parsed = parse(out, text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().reason, TextError::NoCommonType);
  EXPECT_EQ(parsed.error().where, (TextRange{1, 2}));
  EXPECT_EQ(parsed.error().other, (TextRange{10, 15}));
  EXPECT_EQ(parsed.error().line(), "1-2,10-15:unable to find a common type");
  EXPECT_EQ(parsed.error().context(text), "unable to find a common type:\n  [1, 2, 3, 'str']\n   ^        ^^^^^ \n");
}

TEST(VariantText, BothByteOrdersMeanTheSame) {
  Output out;
  const ParsedText big = parse(out, "(1, int64 2, 'x')", std::nullopt, Rest::Refused, std::endian::big);
  ASSERT_TRUE(big);
  EXPECT_EQ(big.bytes().substr(0, 4), std::string_view("\0\0\0\1", 4));
  EXPECT_EQ(printed(big.view()), "(1, int64 2, 'x')");
}

TEST(VariantText, AZeroEndsTheText) {
  EXPECT_EQ(reprinted(std::string_view("5\0x", 3)), "5");
  EXPECT_EQ(reprinted(std::string_view("'a\0'", 4)), "0-2:unterminated string constant");
}

TEST(VariantText, TheRestMayBeLeft) {
  Output out;
  const ParsedText parsed = parse(out, "5 6", std::nullopt, Rest::Ignored);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed.end(), 1u);
  EXPECT_EQ(reprinted("5 6"), "2:expected end of input");
}

TEST(VariantText, MemoryOfTheCallersCanBeTooSmall) {
  char memory[4];
  Output out{std::span(memory)};
  EXPECT_EQ(parse(out, "'abc'").bytes().size(), 4u);
  const ParsedText parsed = parse(out, "'abcd'");
  EXPECT_EQ(parsed.error().reason, TextError::Unwritable);
  EXPECT_FALSE(print(out, View("i", std::string_view("\1\0\0\0", 4)).trusting_normal_form()).size() != 1);
  EXPECT_EQ(print(out, View("s", std::string_view("abcd\0", 5))).error(), WriteError::BufferFull);
}

// Each of these took quadratic time if types, or what elements have in common, were walked for each element.
TEST(VariantTextHostile, LongTypesAndManyElementsAreWalkedOnce) {
  constexpr std::size_t kCount = 200'000;
  const std::string numbers(kCount, 'i');
  std::string empties;
  for (std::size_t i = 0; i < kCount; ++i) empties += "[],";
  Output out;
  EXPECT_TRUE(parse(out, "@aa(" + numbers + ") [" + empties + "[]]"));
  EXPECT_TRUE(parse(out, "[@a(" + numbers + ") []," + empties + "[]]"));
  EXPECT_EQ(parse(out, "[" + empties + "1]").error().reason, TextError::NoCommonType);
  std::string tuples;
  for (std::size_t i = 0; i < kCount; ++i) tuples += "([],),";
  EXPECT_TRUE(parse(out, "@a(a(" + numbers + ")) [" + tuples + "([],)]"));
  std::string nothings;
  for (std::size_t i = 0; i < kCount; ++i) nothings += "nothing,";
  EXPECT_TRUE(parse(out, "@am(" + numbers + ") [" + nothings + "nothing]"));
  EXPECT_EQ(parse(out, "[" + nothings + "@(" + numbers + ") nothing]").error().reason, TextError::NoCommonType);
  std::string last = "(";
  for (std::size_t i = 0; i < kCount; ++i) last += "1,";
  EXPECT_EQ(parse(out, "[" + nothings + "1," + last + "1)]").error().reason, TextError::NoCommonType);
}

// CVE-2023-24593: types in texts so deep that reading them recurses without end.
TEST(VariantTextHostile, LevelsAreLimited) {
  Output out;
  for (const char* open : {"[", "(", "<", "{", "just ", "@ai ", "byte "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    EXPECT_EQ(parse(out, text).error().reason, TextError::Recursion) << open;
  }
  EXPECT_EQ(parse(out, "@" + std::string(100'000, 'a') + "i []").error().reason, TextError::InvalidTypeString);
  const std::string deep = "@" + std::string(100, 'a') + "v []";
  EXPECT_TRUE(parse(out, deep));
  EXPECT_EQ(parse(out, std::string(40, '<') + deep + std::string(40, '>')).error().reason, TextError::Recursion);
}

}  // namespace
}  // namespace tare::variant
