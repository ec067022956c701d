// Views: what broken bytes read as, limits, look-ups, order. The rules are the format's; expected values are by hand.
#include "tare/variant/view.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "lib/support/failing_malloc.h"
#include "lib/support/sanitized.h"
#include "lib/variant/bytes_literal.h"
#include "tare/variant/builder.h"
#include "tare/variant/writer.h"

namespace tare::variant {
namespace {

using testing::operator""_b;
using std::string_literals::operator""s;

static_assert(sizeof(View) == 32);

std::vector<std::string> texts(const View& array) {
  std::vector<std::string> result;
  for (const View& child : array) result.emplace_back(child.text());
  // by number and by child() the same
  const Items items = array.items();
  EXPECT_EQ(items.size(), result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    EXPECT_EQ(items[i].text(), result[i]);
    EXPECT_EQ(array.child(i).text(), result[i]);
  }
  return result;
}
using Texts = std::vector<std::string>;

TEST(View, WrongSizesReadAsZeros) {
  EXPECT_EQ(View("i", "\1\0\0"_b).as_int32(), 0);
  EXPECT_EQ(View("x", ""_b).as_int64(), 0);
  EXPECT_FALSE(View("b", "\1\1"_b).as_bool());
  EXPECT_TRUE(View("b", "\2"_b).as_bool());
  EXPECT_FALSE(View("b", "\2"_b).is_normal());
  EXPECT_EQ(View("(ii)", "\1\0\0\0"_b).child(0).as_int32(), 0);
  EXPECT_EQ(View("ai", "\1\0\0\0\2"_b).child_count(), 0u);
  EXPECT_EQ(View("mi", "\1\0\0"_b).child_count(), 0u);
  EXPECT_EQ(View("()", ""_b).child_count(), 0u);
  EXPECT_TRUE(View("()", "\0"_b).is_normal());
  EXPECT_FALSE(View("()", "\1"_b).is_normal());
}

// A variant of half a type and half its value: an array of tuples whose members are empty arrays of long types, beside
// a last one with its offsets.
std::string tuples_of_long_types(std::size_t members, std::size_t bytes) {
  const std::string member = "a(" + std::string(bytes / 2 / members, 'y') + ")";
  std::string type = "a(";
  for (std::size_t i = 0; i < members; ++i) type += member;
  type += ")";
  const auto width_for = [](std::size_t body, std::size_t offsets) -> std::size_t {
    return body + offsets <= 0xFF ? 1 : body + 2 * offsets <= 0xFFFF ? 2 : 4;
  };
  // All ends but the last member's are 0.
  const std::string element((members - 1) * width_for(0, members - 1), '\0');
  const std::size_t elements = bytes / 2 / (element.size() + 4);
  std::string value;
  for (std::size_t i = 0; i < elements; ++i) value += element;
  const std::size_t width = width_for(value.size(), elements);
  for (std::size_t i = 1; i <= elements; ++i) {
    const auto end = static_cast<std::uint32_t>(i * element.size());
    value.append(reinterpret_cast<const char*>(&end), width);
  }
  return value + '\0' + type;
}

// Days, were each type walked for each element.
TEST(View, ManyLongTypesAreWalkedOnce) {
  alarm(600);
  for (const std::size_t members : {2u, 33u, 65u, 1000u, 100'000u}) {
    const std::string bytes = tuples_of_long_types(members, (std::size_t{16} << 20) / kSanitizedDivisor);
    EXPECT_TRUE(View("v", bytes).is_normal()) << members;
    std::string wrong = bytes;
    wrong[1] = 1;
    EXPECT_FALSE(View("v", wrong).is_normal()) << members;
  }
  alarm(0);
}

TEST(View, LongTypesAreAlikeWithoutMemory) {
  const std::string bytes = tuples_of_long_types(100, 20'000);
  const testing::FailingMalloc failing;
  EXPECT_TRUE(View("v", bytes).is_normal());
}

TEST(View, InvalidTextsReadAsDefaults) {
  EXPECT_EQ(View("s", "ab\0"_b).text(), "ab");
  EXPECT_EQ(View("s", "ab"_b).text(), "");
  EXPECT_EQ(View("s", ""_b).text(), "");
  EXPECT_EQ(View("s", "a\0b\0"_b).text(), "");
  EXPECT_EQ(View("s", "\xFF\0"_b).text(), "");
  EXPECT_EQ(View("o", "x\0"_b).text(), "/");
  EXPECT_EQ(View("g", "mi\0"_b).text(), "");
  EXPECT_EQ(View("i", "a\0\0\0"_b).text(), "");
}

TEST(View, BrokenVariantsHoldUnit) {
  EXPECT_EQ(View("v", "\5\0\0\0\0i"_b).inside().as_int32(), 5);
  for (const auto bytes : {""_b, "i"_b, "\0"_b, "\0ii"_b, "\0a"_b, "\0*"_b, "\1\0i"_b, "\1\0\0\0"_b}) {
    EXPECT_EQ(View("v", bytes).inside().type(), Type("()"));
    EXPECT_FALSE(View("v", bytes).is_normal());
  }
}

TEST(View, EndsOutOfOrderOrBoundsReadAsDefaults) {
  EXPECT_EQ(texts(View("as", "a\0b\0c\0\2\4\6"_b)), (Texts{"a", "b", "c"}));
  // out of order: this element and all after it
  EXPECT_EQ(texts(View("as", "a\0b\0c\0\4\2\6"_b)), (Texts{"", "", ""}));
  EXPECT_EQ(texts(View("as", "a\0b\0c\0\2\1\6"_b)), (Texts{"a", "", ""}));
  // beyond the last one: into the offsets
  EXPECT_EQ(texts(View("as", "a\0b\0c\0\2\7\6"_b)), (Texts{"a", "", ""}));
  // a last end that lies outside, or where no whole number of offsets fits
  EXPECT_EQ(View("as", "a\0\x09"_b).child_count(), 0u);
  EXPECT_EQ(View("as", std::string(256, 'x') + std::string("\x03")).child_count(), 0u);
}

TEST(View, TupleMembersThatDontFitReadAsDefaults) {
  const View good("(sys)", "a\0\7b\0\2"_b);
  EXPECT_EQ(good.child(0).text(), "a");
  EXPECT_EQ(good.child(1).as_byte(), 7);
  EXPECT_EQ(good.child(2).text(), "b");
  EXPECT_EQ(good.child(3).type(), Type("()"));
  const View beyond("(sys)", "a\0\7b\0\6"_b);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(beyond.child(i).text().empty() && beyond.child(i).as_byte() == 0);
  EXPECT_EQ(View("(xs)", "abc"_b).child(1).text(), "");
  EXPECT_EQ(View("(ay)", ""_b).child(0).child_count(), 0u);
  EXPECT_EQ(View("(ayay)", ""_b).child(1).child_count(), 0u);
}

// ---- the CVEs of 2023, and their kin

// CVE-2023-32665 (GLib issue 2121): children that overlap make work, and the text printed, exponential in the depth.
TEST(ViewHostile, ChildrenNeverOverlap) {
  // two elements with the same end: the second can't begin before it, so it is empty
  EXPECT_EQ(texts(View("as", "aa\0\3\3"_b)), (Texts{"aa", ""}));
  // each level is an array of variants, many of which end where the first one does
  std::string value("\1\0y", 3);
  for (int level = 0; level < 40; ++level) {
    const std::size_t end = value.size();
    std::string array = value;
    for (int i = 0; i < 8 && end < 200; ++i) array += static_cast<char>(end);
    if (end >= 200) break;
    value = array + std::string("\0av", 3);
  }
  std::size_t visited = 0;
  const auto visit = [&visited](const auto& self, const View& view) -> void {
    ++visited;
    for (const View& child : view) self(self, child);
  };
  visit(visit, View("v", value));
  EXPECT_LE(visited, 2 * value.size());
}

// CVE-2023-29499 (2794): offsets wider than needed, and ones outside, passed as normal or took quadratic time.
TEST(ViewHostile, OnlyTheNarrowestOffsetsAreNormal) {
  const std::string text(253, 'x');
  std::string two_bytes = text + '\0' + "\xFE\0"s;  // 256 bytes: 2 to an offset, though 1 would do
  EXPECT_EQ(texts(View("as", two_bytes)), (Texts{text}));
  EXPECT_FALSE(View("as", two_bytes).is_normal());
  EXPECT_TRUE(View("as", text + '\0' + "\xFE").is_normal());
  EXPECT_FALSE(View("as", "\0\0"_b).is_normal());  // two elements of no bytes aren't texts
  EXPECT_FALSE(View("aay", "\1"_b).is_normal());   // bytes, but no elements
}

// CVE-2023-32611 (2797): byteswap of such bytes took long, and what came out wasn't normal.
TEST(ViewHostile, SwapsBytesOfWhatIsNotNormal) {
  const View broken("(ayi)", "\1\2\3\4\5\6\7"_b);
  Output out;
  const Written swapped = broken.normal_form(out, std::endian::big);
  ASSERT_TRUE(swapped);
  const View again("(ayi)", swapped.bytes(), std::endian::big);
  EXPECT_TRUE(again.is_normal());
  EXPECT_EQ(again, broken);
}

// CVE-2023-32636 (2841): checking the order of offsets on each access made the fix quadratic. Iteration and items()
// look at each offset a constant number of times: here by the values, and bench/variant.py draws time against size.
TEST(ViewHostile, AMillionElementsAreLookedAtOnce) {
  constexpr std::size_t kCount = 1'000'000;
  const std::string bytes = std::string(2, 'x') + std::string(kCount * 4, '\0');  // all ends are 0, the last too
  const View view("aay", bytes);
  EXPECT_FALSE(view.is_normal());
  std::size_t seen = 0;
  for (const View& child : view) seen += child.child_count() + 1;
  EXPECT_EQ(seen, view.child_count());
  const Items items = view.items();
  for (std::size_t i = 0; i < items.size(); ++i) seen -= items[i].child_count() + 1;
  EXPECT_EQ(seen, 0u);
}

// CVE-2023-32643 (2840): the first fix read past the end. Sanitizers watch this one.
TEST(ViewHostile, NothingIsReadBesidesTheBytes) {
  const char* types[] = {"(sss)",        "a(ss)",     "aas",       "a{sv}", "v",
                         "(ysa{sv}mas)", "aaaaaaaai", "((s)(s)s)", "mmms",  "(vv)"};
  for (const char* type : types) {
    for (std::size_t size = 0; size < 12; ++size) {
      for (unsigned fill = 0; fill < 16; ++fill) {
        const std::unique_ptr<char[]> memory(new char[size]);
        std::fill_n(memory.get(), size, static_cast<char>(fill));
        const View view(*Type::parse(type), {memory.get(), size});
        Output out;
        const Written normal = view.normal_form(out);
        ASSERT_TRUE(normal);
        EXPECT_TRUE(View(view.type(), normal.bytes()).is_normal());
        view.lookup("key");
        view.lookup("");
      }
    }
  }
}

// CVE-2023-25180 (and 24593 for texts): values nested so deep that reading them recurses without end.
TEST(ViewHostile, LevelsAreLimited) {
  std::string bytes("\1\0y", 3);
  for (int i = 0; i < 200; ++i) bytes += "\0v"s;
  const View view("v", bytes);
  EXPECT_FALSE(view.is_normal());
  std::size_t levels = 0;
  for (View inner = view; inner.code() == 'v'; inner = inner.inside()) ++levels;
  EXPECT_EQ(levels, kDeepest);
  Output out;
  EXPECT_TRUE(view.normal_form(out));
  EXPECT_EQ(View("v", out.bytes()), view);
}

// ---- reading

std::string sample_dictionary() {
  Output out;
  return std::string(Writer<"a{sv}">::write(out, std::pair("name", "tare"), std::pair("size", 7u),
                                            std::pair("flag", true), std::pair("", std::int64_t{9}))
                         .bytes());
}

TEST(View, LooksUpKeys) {
  const std::string bytes = sample_dictionary();
  View view("a{sv}", bytes);
  for (const bool is_trusted : {false, true}) {
    EXPECT_EQ(view.lookup("name")->text(), "tare");
    EXPECT_EQ(view.lookup("size")->as_uint32(), 7u);
    EXPECT_TRUE(view.lookup("flag")->as_bool());
    EXPECT_EQ(view.lookup("")->as_int64(), 9);
    EXPECT_FALSE(view.lookup("nam").has_value());
    EXPECT_FALSE(view.lookup("names").has_value());
    EXPECT_EQ(view.is_trusted(), is_trusted);
    EXPECT_TRUE(view.validate());
  }
  Output out;
  Writer<"a{oi}">::write(out, std::pair("/", 1), std::pair("/a", 2));
  EXPECT_EQ(View("a{oi}", out.bytes()).lookup("/a")->as_int32(), 2);
  EXPECT_EQ(View("a{oi}", out.bytes()).lookup("/")->as_int32(), 1);
  EXPECT_FALSE(View("as", out.bytes()).lookup("a").has_value());
  EXPECT_FALSE(View("a{sv}", "").lookup("a").has_value());
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 3000; ++i)
    many.emplace_back("key" + std::to_string(i), std::string(static_cast<std::size_t>(i % 300), 'x'));
  Writer<"a{ss}">::write(out, many);
  for (const int i : {0, 1, 299, 2999}) {
    EXPECT_EQ(View("a{ss}", out.bytes()).lookup(many[static_cast<std::size_t>(i)].first)->text(),
              many[static_cast<std::size_t>(i)].second);
  }
}

TEST(View, AllocatesNothing) {
  const std::string bytes = sample_dictionary();
  const auto before = testing::malloc_counts();
  View view("a{sv}", bytes);
  std::size_t seen = 0;
  for (const View& entry : view) seen += entry.key().text().size() + entry.value().inside().type().size();
  EXPECT_TRUE(view.validate());
  EXPECT_TRUE(view.lookup("flag")->as_bool());
  EXPECT_NE(view.hash(), 0u);
  EXPECT_EQ(view, view);
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(testing::malloc_counts().mallocs - before.mallocs, 0u);
}

TEST(View, ArraysOfNumbersAreSpans) {
  alignas(8) char bytes[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
  const View view("ai", {bytes, 12});
  const auto numbers = view.array_of<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(numbers.begin(), numbers.end()), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_FALSE(view.can_be_array_of<std::int64_t>());
  EXPECT_FALSE(View("ai", {bytes + 1, 12}).can_be_array_of<std::int32_t>());
  EXPECT_FALSE(View("ai", {bytes, 12}, std::endian::big).can_be_array_of<std::int32_t>());
  EXPECT_FALSE(View("as", {bytes, 12}).can_be_array_of<std::int32_t>());
}

TEST(View, OrdersByTypeThenByValue) {
  Output a;
  Output b;
  const auto compare = [&]<TypeText kType>(auto first, auto second) {
    Writer<kType>::write(a, first);
    Writer<kType>::write(b, second);
    return View(Type::trusted(kType.view()), a.bytes()) <=> View(Type::trusted(kType.view()), b.bytes());
  };
  EXPECT_TRUE(compare.operator()<"i">(-1, 1) < 0);
  EXPECT_TRUE(compare.operator()<"u">(0xFFFF'FFFFu, 1u) > 0);
  EXPECT_TRUE(compare.operator()<"d">(-1.0, 1.0) < 0);
  EXPECT_TRUE(compare.operator()<"s">("a", "ab") < 0);
  EXPECT_TRUE(compare.operator()<"ai">(std::vector{1, 2}, std::vector{1, 3}) < 0);
  EXPECT_TRUE(compare.operator()<"ai">(std::vector{1, 2}, std::vector{1}) > 0);
  EXPECT_TRUE(compare.operator()<"v">(1, 1) == 0);
  EXPECT_TRUE(compare.operator()<"v">("x", 1) > 0);
  EXPECT_NE(View("i", "\1\0\0\0"_b), View("u", "\1\0\0\0"_b));
}

TEST(View, ValuesThatShareALongTypeAreWalkedOnce) {
  // 32,768 empty tuples of 65,536 arrays each: walking the type for each of them would take minutes
  const auto many_of = [](std::string_view last) {
    std::string bytes(1 << 17, '\0');
    bytes += std::string_view("\0a(", 3);
    for (int i = 0; i < 1 << 16; ++i) bytes += "ai";
    return bytes.append(last) + ')';
  };
  EXPECT_TRUE(View("v", many_of("as")).is_normal());
  EXPECT_FALSE(View("v", many_of("s")).is_normal()) << "a text has at least its zero";
  EXPECT_FALSE(View("v", many_of("y")).is_normal());
}

TEST(View, NumbersHaveATotalOrder) {
  using Limits = std::numeric_limits<double>;
  const double rising[] = {
      -Limits::quiet_NaN(), -Limits::infinity(), -1.5, -Limits::denorm_min(), -0.0, 0.0, Limits::denorm_min(), 1.5,
      Limits::infinity(),   Limits::quiet_NaN()};
  for (const double& a : rising) {
    for (const double& b : rising) {
      const View of_a("d", std::string_view(reinterpret_cast<const char*>(&a), sizeof a));
      const View of_b("d", std::string_view(reinterpret_cast<const char*>(&b), sizeof b));
      EXPECT_EQ(of_a <=> of_b, &a <=> &b) << a << ' ' << b;
    }
  }
}

}  // namespace
}  // namespace tare::variant
