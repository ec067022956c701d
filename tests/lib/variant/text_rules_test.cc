// Texts that values may hold, at every position in the words that are looked at at once.
#include "tare/variant/text_rules.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tare::variant {
namespace {

// In memory of exactly its size, so that a sanitizer sees a byte read or written too many.
bool is_text_both_ways(const std::string& text) {
  const std::unique_ptr<char[]> from(new char[text.size()]);
  const std::unique_ptr<char[]> to(new char[text.size()]);
  std::copy(text.begin(), text.end(), from.get());
  const std::string_view exact(from.get(), text.size());
  const bool is_one = is_text(exact);
  EXPECT_EQ(copy_text(to.get(), exact), is_one);
  if (is_one) {
    EXPECT_EQ(std::string_view(to.get(), text.size()), exact);
  }
  return is_one;
}

TEST(TextRules, AcceptsUnicodeOnly) {
  const std::vector<std::string> valid = {"\x7F",         "\xC2\x80",         "\xDF\xBF",
                                          "\xE0\xA0\x80", "\xED\x9F\xBF",     "\xEE\x80\x80",
                                          "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};
  const std::vector<std::string> invalid = {std::string(1, '\0'),
                                            "\x80",
                                            "\xC0\x80",
                                            "\xC1\xBF",
                                            "\xE0\x9F\xBF",
                                            "\xED\xA0\x80",
                                            "\xF0\x8F\xBF\xBF",
                                            "\xF4\x90\x80\x80",
                                            "\xF5\x80\x80\x80",
                                            "\xFF",
                                            "\xC3",
                                            "\xE2\x82",
                                            "\xF0\x9F\x98",
                                            "\xE2\x28\xA1"};
  for (std::size_t before = 0; before < 20; ++before) {
    for (std::size_t behind = 0; behind < 20; ++behind) {
      const auto framed = [&](const std::string& middle) {
        return std::string(before, 'x') + middle + std::string(behind, '\x01');
      };
      EXPECT_TRUE(is_text_both_ways(framed("")));
      for (const std::string& text : valid) EXPECT_TRUE(is_text_both_ways(framed(text))) << before << ' ' << behind;
      for (const std::string& text : invalid) EXPECT_FALSE(is_text_both_ways(framed(text))) << before << ' ' << behind;
    }
  }
}

TEST(TextRules, ObjectPaths) {
  for (const char* path : {"/", "/a", "/org/tare/Object_1"}) EXPECT_TRUE(is_object_path(path)) << path;
  for (const char* path : {"", "a", "//", "/a/", "/a//b", "/a-b", "/\xC3\xA4"})
    EXPECT_FALSE(is_object_path(path)) << path;
}

TEST(TextRules, Signatures) {
  for (const char* text : {"", "i", "ia{sv}(ii)", "()", "{sv}"}) EXPECT_TRUE(is_signature(text)) << text;
  for (const char* text : {"mi", "a", "(", "?", "r", "i)"}) EXPECT_FALSE(is_signature(text)) << text;
}

}  // namespace
}  // namespace tare::variant
