// GLib's text format beside ours: random values, a list of tricky texts, and texts that were broken at random.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "lib/support/sanitized.h"
#include "lib/variant/text_peer.h"
#include "lib/variant/text_printable.h"

namespace tare {
namespace {

using testing::Choices;
using testing::For;
using testing::GlibText;
using testing::GlibValue;
using testing::parse_difference;
using testing::print_difference;

class TextBesideGlib : public ::testing::Test {
 protected:
  // texts that aren't UTF-8 are bugs of its caller's for GLib
  void SetUp() override {
    g_log_set_default_handler([](const char*, GLogLevelFlags, const char*, void*) {}, nullptr);
  }
  std::mt19937_64 random_{7};

  GlibValue random_value() {
    std::vector<std::uint8_t> bytes(400);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    Choices choices(bytes);
    const std::string type = testing::choose_type(choices, For::GVariant);
    return testing::take(testing::choose_value(choices, type, For::GVariant));
  }
};

TEST_F(TextBesideGlib, RandomValuesArePrintedAndParsedTheSame) {
  for (int i = 0; i < 4000 / kSanitizedDivisor; ++i) {
    const GlibValue value = random_value();
    ASSERT_EQ(print_difference(value.get()), "");
    const GlibText annotated(g_variant_print(value.get(), TRUE));
    const GlibText plain(g_variant_print(value.get(), FALSE));
    ASSERT_EQ(parse_difference(annotated.get()), "");
    ASSERT_EQ(parse_difference(plain.get()), "");
    ASSERT_EQ(parse_difference(plain.get(), g_variant_get_type_string(value.get())), "");
  }
}

TEST_F(TextBesideGlib, BrokenBytesArePrintedTheSame) {
  for (int i = 0; i < 8000 / kSanitizedDivisor; ++i) {
    const GlibValue original = random_value();
    std::string bytes(testing::bytes_of(original.get()));
    for (int change = 0; change < 3 && !bytes.empty(); ++change) {
      bytes[random_() % bytes.size()] = static_cast<char>(random_() % (random_() % 2 != 0 ? 256 : 8));
    }
    GBytes* copy = g_bytes_new(bytes.data(), bytes.size());
    const GlibValue value = testing::take(g_variant_new_from_bytes(g_variant_get_type(original.get()), copy, FALSE));
    g_bytes_unref(copy);
    const variant::View view(variant::Type::trusted(g_variant_get_type_string(original.get())), bytes);
    std::size_t steps = 100'000;
    if (testing::has_broken_first_member(view, steps)) continue;  // which GLib reads otherwise, see view.h
    ASSERT_EQ(print_difference(value.get()), "");
  }
}

constexpr const char* kTexts[] = {
    // numbers
    "0", "1", "-1", "+1", "0x7f", "0X7F", "-0x80", "010", "08", "0x", "0xg", "1e5", "1E5", "-0xe", ".5", "5.", ".", "-",
    "+", "--5", "--0", "-+5", "+-5", "5 5", "5x", "1_000", "inf", "-inf", "nan", "-nan", "+inf", "infinity", "inff",
    "NaN", "2147483647", "2147483648", "-2147483648", "-2147483649", "18446744073709551615", "18446744073709551616",
    "uint64 18446744073709551615", "int64 -9223372036854775808", "int64 -9223372036854775809", "byte 255", "byte 256",
    "byte -1", "byte -0", "int16 -32768", "int16 32768", "uint16 -1", "handle -2147483648", "double 5", "double 1e400",
    "double 1e-400", "double 4.9e-324", "1e-5", "double 0x1p3", "0x1.8p1", "1.0e", "1e+5", "string 5", "boolean 1",
    "@v 5", "objectpath 5", "double -", "double x", "0.1", "100000000000000000000.0", "1.7976931348623157e308", "-0.0",
    "--5.5", "-99999999999999999999", "int32 0x80000000", "int32 -0x80000000", "int64 0777777777777777777777",
    // texts
    "''", "\"\"", "'a", "\"a'", "'a\\", "'a\\'", "'\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\q\\0'", "'\\u00e9'", "'\\u20AC'",
    "'\\U0001f600'", "'\\u12'", "'\\u123'", "'\\u123g'", "'\\u0000'", "'\\U00000000'", "'\\U0011000'", "'\\ud800'",
    "'\\U00110000'", "'\\Uffffffff'", "'line\\\nbreak'", "'Grüße'", "'\xff'", "'\xed\xa0\x80'", "\"it's\"",
    "'\\u007f\\u0085\\u00a0\\u00ad\\u200b\\ufeff\\ue000\\uffff\\U000e0001'", "'\x01\x1b'", "'a' 'b'", "\"\\u0022'\"",
    "objectpath '/'", "objectpath 'a'", "objectpath '/a/'", "signature ''", "signature 'a{sv}'", "signature 'mi'",
    "signature '('", "@o '/a'", "@g 'a'", "string '/'", "@s \"x\"", "'\\U0010ffff'", "'\\u'", "'\\u", "'\\U0001f60'",
    // bytes
    "b''", "b'abc'", "b\"it's\"", "b'\\000'", "b'a\\000b'", "b'\\1\\12\\123\\777\\8'", "b'", "b'\\", "b'\\u1234'",
    "b'\\a\\b\\f\\n\\r\\t\\v\\\n\\'\\\"'", "b'\xff\x80'", "@ay b'x'", "@as b'x'", "[b'x', b'y']", "[b'x', []]",
    "@aay []", "[byte 1, 2, 0]", "[byte 65, 0]", "[byte 0]", "[byte 7, 8, 127, 34, 92, 0]", "@ay []", "@ay b''", "b",
    "b5",
    // arrays, tuples, dictionaries
    "[]", "[", "[,", "[1", "[1,", "[1,]", "[1 2]", "[1, 2,, 3]", "]", "[1, 'a']", "[1, 2, 3, 'str']", "[1, 2.5]",
    "[1.5, 2]", "[[], [1]]", "[[1], []]", "[[1], ['a']]", "[[], [[]], [[1]]]", "@ai []", "@ai [1, 'x']", "@as [1]",
    "[@ai [], [1]]", "[int64 1, 2]", "[1, int64 2, byte 3]", "[true, false]", "[true, 1]", "()", "(", "(1", "(1,",
    "(1,)", "(1, 2", "(1, 2,)", "(1 2)", "(1)", "(,)", "((),)", "@() ()", "@(i) (1, 2)", "@(ii) (1,)", "@(ii) (1, 'x')",
    "@i ()", "[(1, 'a'), (2, 'b')]", "[(1, 'a'), (2, 3)]", "[(1,), (1, 2)]", "{}", "{", "{1", "{1:", "{1: 2", "{1: 2,",
    "{1: 2,}", "{1: 2, 3}", "{1, 2}", "{1, 2", "{1, 2, 3}", "{1 2}", "{1: 2 3: 4}", "{'a': 1, 'b': 2}",
    "{'a': 1, 'b': 'c'}", "{'a': 1, 2: 3}", "{[1]: 2}", "{just 1: 2}", "{<1>: 2}", "{'a': <1>, 'b': <'x'>}",
    "@a{sv} {}", "@a{si} {'a': 1}", "@{si} {'a', 1}", "@{si} {'a': 1}", "@a{si} {'a', 1}", "[{1, 2}, {3, 4}]",
    "[{1, 2}, {3, 'a'}]", "{'a': [], 'b': [1]}", "{'a': [1], 'b': []}", "@ai {}", "@a{si} []", "@a{si} [{'a', 1}]",
    "{'a': nothing}", "{'a': just 1, 'b': nothing, 'c': 2}", "{byte 1: 2, 3: 4}", "{objectpath '/': 1, '/a': 2}",
    "[{}, {'a': 1}]", "[{}, []]", "[{'a': 1}, {}]", "[{}, [{1, 2}]]", "{1, 2}: 3", "{true: 1, false: 0}", "{1.5: 1}",
    "[{'a': <1>}, {'b': <2>}]", "(1, [], 2)", "[(1, []), (2, [3])]",
    // maybes
    "nothing", "just 1", "just just 1", "just nothing", "just just nothing", "@mi nothing", "@mi 1", "@mi just 1",
    "@mmi 1", "@mmi nothing", "@mmi just nothing", "@mmi just just 1", "@ms 'x'", "@ms ''", "@mms ''", "@mv <1>",
    "@mai [1]", "@may b'x'", "@m(is) (1, 'x')", "@ma{si} {'a': 1}", "@m() ()", "@mm() ()", "[1, nothing]",
    "[nothing, 1]", "[nothing, nothing]", "[just 1, 2]", "[just 1, nothing, 2, just 3]", "[just nothing, nothing]",
    "[just nothing, just just 1, 2]", "[nothing, 'a', 1]", "[just 'a', 1]", "[@mi 1, 2]", "[@i 1, nothing]",
    "[@mi 1, just nothing]", "[[1], nothing]", "[[nothing], [1]]", "[(nothing, 1), (2, nothing)]",
    "@ami [1, nothing, just 2]", "@(mi) (1,)", "@(mii) (nothing, 1)", "just", "nothin", "justice", "noth ing",
    "@i just 1", "@mi 'x'", "(just 1, @ms nothing)", "<just 1>", "<@mi nothing>", "@a{smi} {'a': 1, 'b': nothing}",
    "just [1]", "just {'a': 1}", "[just [1], nothing, []]", "@mb true", "@mmmi 4",
    // variants
    "<1>", "<'a'>", "<<1>>", "<[]>", "<@ai []>", "<", "<1", "<1]", "<>", "<1, 2>", "[<1>, <'a'>]", "[<1>, 2]", "@i <1>",
    "@v <1>", "<byte 5>", "<(1, 'x')>", "<{'a': <true>}>", "<nothing>", "<@ms 'x'>", "(<1>, <[<2>]>)",
    // types and words
    "@", "@i", "@i ", "@x", "@ 5", "@ii 5", "@(i 5", "@(i) (5,)", "@* 5", "@r (1,)", "@? 1", "@a* [1]",
    "@{vi} {<1>, 1}", "@i@i 5", "@i @x 5", "@a{si}{'a':1}", "(@i 5,@s 'x')", "[@i 5:]", "{@s 'a':@i 5}", "int32 5",
    "int32", "int33 5", "tru", "true1", "TRUE", "True", "x", "y 5", "%i", "%", "5%", "&", "\\", ";", "int32 int64 5",
    "@ai @ai [1]", "byte\t5", "byte\n5", "byte\v5", "a", "aa",
    // spaces and ends
    "", " ", "\n", " 5", "5 ", "5\n\n", "5 x", "[1,\n 2,\n 'x'\n]", "[1,\n 2,\n", "\n\n[1, 2\n3]", "(1,\n\n  2", "(\n",
    "'a\nb", "[1, 2, 3, 'a\n", "\t[ 1 ,\r2\f]\n", "[1]\n[2]", "(1, 2, 3, 'abc", "{'a': 1,\n 'b': x}",
    "[1,\n2,\n'a',\n3]"};

TEST_F(TextBesideGlib, TrickyTexts) {
  constexpr const char* kTypes[] = {"i",  "d", "s",   "y",   "t",    "mi",    "mmi",  "ai",     "as",
                                    "ay", "v", "mv",  "(i)", "(is)", "a{sv}", "{si}", "a{si}",  "ami",
                                    "o",  "g", "mms", "b",   "x",    "h",     "ad",   "a{smi}", "()"};
  for (const char* text : kTexts) {
    EXPECT_EQ(parse_difference(text), "");
    EXPECT_EQ(parse_difference(std::string(text) + " "), "");
    EXPECT_EQ(parse_difference(std::string("[") + text + "]"), "");
    EXPECT_EQ(parse_difference(std::string("<") + text + ">"), "");
    EXPECT_EQ(parse_difference(std::string("(") + text + ",)"), "");
    for (const char* type : kTypes) EXPECT_EQ(parse_difference(text, type), "") << type;
  }
}

TEST_F(TextBesideGlib, TextsPutTogetherAtRandom) {
  constexpr const char* kPieces[] = {"[",    "]",    "(",   ")",  "{",   "}",  "<",       ">",       ",",     ", ",
                                     ":",    "1",    "'a'", "-2", "1.5", "@i", "@mi ",    "nothing", "just ", "b'x'",
                                     "byte", "true", "[]",  "{}", "()",  " ",  "@a{sv} ", "(1,",     "'k': ", "\\u12"};
  for (int i = 0; i < 40'000 / kSanitizedDivisor; ++i) {
    std::string text;
    for (auto count = random_() % 10; count > 0; --count) text += kPieces[random_() % std::size(kPieces)];
    ASSERT_EQ(parse_difference(text), "");
  }
  for (int i = 0; i < 20'000 / kSanitizedDivisor; ++i) {  // elements of arrays: whether they have a type in common
    constexpr const char* kElements[] = {"1",        "nothing",   "just 1",    "just nothing",   "[]",
                                         "[1]",      "[nothing]", "@mi 1",     "@mmi 1",         "int64 1",
                                         "1.5",      "[just 1]",  "('a', [])", "(nothing, [1])", "{}",
                                         "{'a': 1}", "'a'",       "<1>",       "just []",        "{nothing, 1}"};
    std::string text = "[";
    for (auto count = random_() % 5; count > 0; --count)
      text += kElements[random_() % std::size(kElements)] + std::string(", ");
    text += kElements[random_() % std::size(kElements)] + std::string("]");
    ASSERT_EQ(parse_difference(text), "");
    ASSERT_EQ(parse_difference("[" + text + ", " + text.substr(0, text.rfind(',') + 1) + "1]]"), "");
  }
}

TEST_F(TextBesideGlib, TextsWithErrors) {
  for (int i = 0; i < 8000 / kSanitizedDivisor; ++i) {
    const GlibValue value = random_value();
    const GlibText printed(g_variant_print(value.get(), TRUE));
    std::string text = printed.get();
    if (text.size() > 2000) text.resize(2000);
    for (auto change = random_() % 3 + 1; change > 0; --change) {
      const auto at = random_() % text.size();
      if (random_() % 2 != 0) {
        text.erase(at, random_() % 4);
      } else {
        text.insert(at, 1, "[](){}<>,:'\"\\@ 1am-.x\n"[random_() % 23]);
      }
      if (text.empty()) text = " ";
    }
    ASSERT_EQ(parse_difference(text), "");
    ASSERT_EQ(parse_difference(text, g_variant_get_type_string(value.get())), "");
  }
}

TEST_F(TextBesideGlib, LevelsEndAtTheSame) {
  for (const std::size_t levels : {63, 64, 65, 126, 127, 128, 129, 1000}) {
    const auto nested = [&](std::string_view open, std::string_view inside, std::string_view close) {
      std::string text;
      for (std::size_t i = 0; i < levels; ++i) text += open;
      text += inside;
      for (std::size_t i = 0; i < levels; ++i) text += close;
      return text;
    };
    EXPECT_EQ(parse_difference(nested("[", "1", "]")), "");
    EXPECT_EQ(parse_difference(nested("(", "1", ",)")), "");
    EXPECT_EQ(parse_difference(nested("<", "1", ">")), "");
    EXPECT_EQ(parse_difference(nested("just ", "1", "")), "");
    EXPECT_EQ(parse_difference("@" + nested("m", "i", "") + " 1"), "");
    EXPECT_EQ(parse_difference("[@" + nested("a", "i", "") + " []]"), "");
  }
}

TEST_F(TextBesideGlib, TheSameCharactersArePrinted) {
  int more_here = 0;
  int more_there = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const bool theirs = g_unichar_isprint(c) != 0;
    more_here += variant::is_printable(c) && !theirs ? 1 : 0;
    more_there += theirs && !variant::is_printable(c) ? 1 : 0;
  }
  EXPECT_EQ(more_here, 0);
  // newer ones of GLib know more of Unicode
  if (glib_minor_version < 80) {
    EXPECT_EQ(more_there, 0);
  }
}

}  // namespace
}  // namespace tare
