// Texts that come and go as UTF-16: one atom with the same text in UTF-8, and what becomes of broken text.
#include "lib/atoms/utf16.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tare/atom_table.h"

namespace tare {
namespace {

std::u16string as_utf16(const Atom& atom) {
  std::u16string text(atom.copy_utf16(nullptr, 0), u'?');
  EXPECT_EQ(atom.copy_utf16(text.data(), text.size()), text.size());
  return text;
}

TEST(Utf16, SameTextSameAtom) {
  AtomTable table;
  const std::pair<std::string, std::u16string> same[] = {
      {"", u""},
      {"div", u"div"},
      {"\x7F\xC2\x80", u"\x7F\x80"},
      {"na\xC3\xAFve", u"na\u00EFve"},
      {"\xDF\xBF\xE0\xA0\x80", u"\u07FF\u0800"},
      {"\xE2\x82\xAC", u"\u20AC"},
      {"\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF", u"\uD7FF\uE000\uFFFF"},
      {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", u"\U00010000\U0010FFFF"},
      {std::string("a\0b", 3), std::u16string(u"a\0b", 3)},
      {std::string(200, 'x') + "\xC3\xA9", std::u16string(200, u'x') + u"\u00E9"},
  };
  for (const auto& [narrow, wide] : same) {
    const Atom a = table.intern(narrow);
    const Atom b = table.intern(wide);
    EXPECT_TRUE(a);
    EXPECT_EQ(a, b) << narrow;
    EXPECT_EQ(b.text(), narrow);
    EXPECT_EQ(as_utf16(a), wide);
    EXPECT_EQ(table.find(wide), a);
  }
  EXPECT_FALSE(table.find(u"nobody made this"));
}

TEST(Utf16, LoneSurrogatesComeBackAsTheyWent) {
  AtomTable table;
  const std::u16string texts[] = {u"\xD800",       u"a\xDBFF",       u"\xDC00z",          u"\xDFFF\xD800",
                                  u"\xD800\xD800", u"\xDC00\xDC00x", u"\xD800\U0001F600", u"\xDE00\U0001F600\xD83D"};
  for (const std::u16string& text : texts) EXPECT_EQ(as_utf16(table.intern(text)), text);
  EXPECT_EQ(table.intern(u"\xD800").text(), "\xED\xA0\x80");
}

TEST(Utf16, BrokenBytesBecomeReplacements) {
  AtomTable table;
  const std::pair<std::string, std::u16string> broken[] = {
      {"\x80", u"\uFFFD"},    // begins with a continuation
      {"a\xC3", u"a\uFFFD"},  // ends too early
      {"\xC3(", u"\uFFFD("},
      {"\xC0\xAF", u"\uFFFD\uFFFD"},  // overlong
      {"\xE0\x80\xAF", u"\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x80\x80\xAF", u"\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xE2\x82", u"\uFFFD"},  // a maximal part is one replacement
      {"\xF0\x9F\x98z", u"\uFFFDz"},
      {"\xF4\x90\x80\x80", u"\uFFFD\uFFFD\uFFFD\uFFFD"},  // beyond U+10FFFF
      {"\xF5\xFF", u"\uFFFD\uFFFD"},
      {std::string("\xC3\0", 2), std::u16string(u"\uFFFD\0", 2)},
  };
  for (const auto& [bytes, units] : broken) {
    const Atom atom = table.intern(bytes);
    EXPECT_EQ(atom.text(), bytes) << "bytes are kept as they are";
    EXPECT_EQ(as_utf16(atom), units);
  }
}

TEST(Utf16, AnyUnitsMakeTheRoundTrip) {
  AtomTable table;
  std::mt19937 random(7);
  constexpr char16_t kLeast[] = {0, 0x20, 0x80, 0x7FF, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xFFFE};
  for (int i = 0; i < 20'000; ++i) {
    std::u16string text;
    for (std::size_t n = random() % 20; n > 0; --n) {
      text += static_cast<char16_t>(kLeast[random() % std::size(kLeast)] + random() % 2);
    }
    const Atom atom = table.intern(text);
    ASSERT_EQ(as_utf16(atom), text);
    ASSERT_EQ(table.intern(atom.text()), atom);
  }
}

TEST(Utf16, WritesNoMoreThanThereIsRoomFor) {
  AtomTable table;
  const Atom atom = table.intern("a\xF0\x9F\x98\x80z");
  char16_t units[4] = {u'-', u'-', u'-', u'-'};
  EXPECT_EQ(atom.copy_utf16(units, 2), 4U);
  EXPECT_EQ(units[0], u'a');
  EXPECT_EQ(units[1], 0xD83D);
  EXPECT_EQ(units[2], u'-');
}

}  // namespace
}  // namespace tare
