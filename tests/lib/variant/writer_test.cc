// The typed writer: bytes worked out by hand from the two formats, what fits at compile time, and what goes wrong.
#include "tare/variant/writer.h"

#include <gtest/gtest.h>

#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/support/failing_malloc.h"
#include "lib/variant/bytes_literal.h"

struct Rect {
  std::int32_t x, y, width, height;
};
struct Padded {
  std::uint8_t a;
  std::uint32_t b;
};
struct Reversed {
  std::int32_t y, x;
};
struct Mixed {
  std::int64_t a;
  std::array<std::uint16_t, 2> b;
  std::uint32_t c;
};
template <>
inline constexpr auto tare::variant::fields<Padded> = std::tuple(&Padded::a, &Padded::b);
template <>
inline constexpr auto tare::variant::fields<Reversed> = std::tuple(&Reversed::x, &Reversed::y);
template <>
inline constexpr auto tare::variant::fields<Mixed> = std::tuple(&Mixed::a, &Mixed::b, &Mixed::c);
template <>
inline constexpr auto tare::variant::fields<Rect> = std::tuple(&Rect::x, &Rect::y, &Rect::width, &Rect::height);

namespace tare::variant {
namespace {

using testing::operator""_b;

static_assert(std::endian::native == std::endian::little, "bytes below are little endian");

using Native = GVariantFormat<>;
using Swapped = GVariantFormat<std::endian::big>;
static_assert(writer_details::kIsWireForm<Native, "(iiii)", Rect>);
static_assert(writer_details::kIsWireForm<Native, "(x(qq)u)", Mixed>);
static_assert(!writer_details::kIsWireForm<Native, "(yu)", Padded>, "padding is zero in bytes, anything in memory");
static_assert(!writer_details::kIsWireForm<Native, "(xxxx)", Rect> && !writer_details::kIsWireForm<Native, "d", long>);
static_assert(!writer_details::kIsWireForm<Swapped, "(iiii)", Rect>);
static_assert(writer_details::kIsWireForm<DBusFormat<>, "(iiii)", Rect>, "16 bytes: the next one begins at once");
static_assert(!writer_details::kIsWireForm<DBusFormat<>, "(qq)", std::array<std::uint16_t, 2>>, "4 bytes, not 8");
static_assert(!writer_details::kIsWireForm<DBusFormat<>, "(x(qq)u)", Mixed>, "the inner one begins at 8, not its end");

enum class Colour : std::uint8_t { Red = 3 };

static_assert(natural_type<std::map<std::string, std::vector<int>>>.view() == "a{sai}");
static_assert(natural_type<std::tuple<bool, std::optional<double>, const char*>>.view() == "(bmds)");
static_assert(natural_type<Rect>.view() == "(iiii)" && natural_type<std::vector<Rect>>.view() == "a(iiii)");
static_assert(natural_type<std::variant<int, bool>>.view() == "v" && natural_type<ObjectPath>.view() == "o");

static_assert(fits<"i", int>() && fits<"x", int>() && fits<"n", std::int8_t>() && fits<"y", Colour>());
static_assert(!fits<"i", std::int64_t>() && !fits<"u", int>() && !fits<"q", int>() && !fits<"i", bool>());
static_assert(!fits<"b", int>() && !fits<"y", char>() && !fits<"d", int>() && !fits<"s", int>() &&
              !fits<"s", std::nullptr_t>());
static_assert(fits<"(iiii)", Rect>() && !fits<"(iii)", Rect>() && !fits<"(iiis)", Rect>() && fits<"(xxxx)", Rect>());
static_assert(fits<"a{sv}", std::map<std::string, int>>() && !fits<"a{iv}", std::map<std::string, int>>());
static_assert(fits<"ms", std::optional<std::string>>() && fits<"mi", const int*>() && fits<"ai", std::list<int>>());
static_assert(fits<"v", Typed<"s", std::string>>() && !fits<"v", Typed<"u", std::string>>());

template <TypeText kType, typename Format = GVariantFormat<>, typename... Values>
std::string bytes(const Values&... values) {
  Output out;
  const Written written = Writer<kType, Format>::write(out, values...);
  EXPECT_TRUE(written) << describe(written.error());
  EXPECT_EQ((Writer<kType, Format>::size(values...)), written.size());
  // the same into memory of exactly that size
  const std::unique_ptr<char[]> memory(new char[written.size()]);
  const Written again = Writer<kType, Format>::write(std::span(memory.get(), written.size()), values...);
  EXPECT_EQ(again.bytes(), written.bytes());
  if (written.size() > 0) {
    const Written full = Writer<kType, Format>::write(std::span(memory.get(), written.size() - 1), values...);
    EXPECT_EQ(full.error(), WriteError::BufferFull);
  }
  EXPECT_EQ((Writer<kType, Format>::write_malloced(values...).bytes()), written.bytes());
  return std::string(written.bytes());
}

TEST(Writer, NumbersAndTuplesOfFixedSize) {
  EXPECT_EQ((bytes<"b">(true)), "\1"_b);
  EXPECT_EQ((bytes<"(yi)">(std::uint8_t{7}, 1)), "\7\0\0\0\1\0\0\0"_b);
  EXPECT_EQ((bytes<"(iy)">(1, Colour::Red)), "\1\0\0\0\3\0\0\0"_b);
  EXPECT_EQ((bytes<"()">()), "\0"_b);
  EXPECT_EQ((bytes<"(iiii)">(Rect{1, 2, 3, 4})), "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"_b);
  EXPECT_EQ((bytes<"(nh)", GVariantFormat<std::endian::big>>(std::int16_t{1}, Handle{2})), "\0\1\0\0\0\0\0\2"_b);
}

TEST(Writer, Texts) {
  EXPECT_EQ((bytes<"s">("hi")), "hi\0"_b);
  EXPECT_EQ((bytes<"(so)">(std::string("k"), ObjectPath{"/"})), "k\0/\0\2"_b);
  EXPECT_EQ((bytes<"g">(Type("a{sv}"))), "a{sv}\0"_b);
}

TEST(Writer, ArraysHaveTheirEndsBehind) {
  EXPECT_EQ((bytes<"as">(std::vector<std::string>{"i", "", "xy"})), "i\0\0xy\0\2\3\6"_b);
  EXPECT_EQ((bytes<"as">(std::vector<std::string>{})), ""_b);
  EXPECT_EQ((bytes<"an">(std::list<std::int16_t>{1, 2})), "\1\0\2\0"_b);
  EXPECT_EQ((bytes<"ab">(std::vector<bool>{true, false})), "\1\0"_b);
  // ends of padded elements, and one that lies within 8 bytes of the offsets
  EXPECT_EQ((bytes<"a(sv)">(std::pair("a", as<"y">(std::uint8_t{5})), std::pair("b", 1))),
            "a\0\0\0\0\0\0\0\5\0y\2\0\0\0\0b\0\0\0\0\0\0\0\1\0\0\0\0i\2\x0C\x1F"_b);
}

TEST(Writer, OffsetsAreAsWideAsTheWholeNeeds) {
  const std::string body_253(252, 'x');  // and its zero: 253, with an offset 254
  EXPECT_EQ((bytes<"as">(std::vector{body_253})).size(), 254u);
  EXPECT_EQ((bytes<"as">(std::vector{body_253 + "x"})).size(), 255u);
  EXPECT_EQ((bytes<"as">(std::vector{body_253 + "xx"})).size(), 257u);
  EXPECT_EQ((bytes<"as">(std::vector<std::string>(21845))).size(), 65535u);
  EXPECT_EQ((bytes<"as">(std::vector<std::string>(21846))).size(), 5u * 21846);
  EXPECT_EQ((bytes<"(sas)">(std::string(300, 'x'), std::vector<std::string>{})).substr(301), "\x2D\1"_b);
}

TEST(Writer, StructsThatLieAsTheyAreWritten) {
  const std::vector<Rect> rects{{1, 2, 3, 4}, {5, 6, 7, 8}};
  EXPECT_FALSE(writer_details::lies_in_order<Reversed>());
  EXPECT_TRUE(writer_details::lies_in_order<Mixed>());
  const std::string one{"\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"_b};
  const std::string two{"\5\0\0\0\6\0\0\0\7\0\0\0\x08\0\0\0"_b};
  EXPECT_EQ((bytes<"a(iiii)">(rects)), one + two);
  EXPECT_EQ((bytes<"a(iiii)", DBusFormat<>>(rects)), std::string("\x20\0\0\0\0\0\0\0"_b) + one + two);
  EXPECT_EQ((bytes<"a(yu)">(std::vector<Padded>{{1, 2}})), "\1\0\0\0\2\0\0\0"_b);
  EXPECT_EQ((bytes<"a(ii)">(std::vector<Reversed>{{2, 1}})), "\1\0\0\0\2\0\0\0"_b);
  EXPECT_EQ((bytes<"(x(qq)u)">(Mixed{1, {2, 3}, 4})), "\1\0\0\0\0\0\0\0\2\0\3\0\4\0\0\0"_b);
  EXPECT_EQ((bytes<"(x(qq)u)", DBusFormat<std::endian::big>>(Mixed{1, {2, 3}, 4})),
            "\0\0\0\0\0\0\0\1\0\2\0\3\0\0\0\4"_b);
}

TEST(Writer, ManyElementsAndFewAreWrittenAlike) {
  for (const std::size_t count : {1u, 63u, 64u, 65u, 200u}) {
    std::string expected;
    std::string ends;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
      texts.push_back(std::string(i % 5 + 1, 'x'));
      expected += texts.back() + '\0';
      ends += static_cast<char>(expected.size());
      if (count > 1) ends += static_cast<char>(expected.size() >> 8);
    }
    EXPECT_EQ((bytes<"as">(texts)), expected + ends) << count;
    EXPECT_EQ((bytes<"as">(std::list(texts.begin(), texts.end()))), expected + ends) << count;
  }
}

TEST(Writer, Maybes) {
  EXPECT_EQ((bytes<"mi">(std::optional(1))), "\1\0\0\0"_b);
  EXPECT_EQ((bytes<"ms">(std::optional<const char*>("x"))), "x\0\0"_b);
  EXPECT_EQ((bytes<"ms">(std::nullopt)), ""_b);
  const std::string text = "y";
  EXPECT_EQ((bytes<"(msmsi)">(&text, static_cast<const std::string*>(nullptr), 2)), "y\0\0\0\2\0\0\0\3\3"_b);
}

TEST(Writer, Variants) {
  EXPECT_EQ((bytes<"v">(5)), "\5\0\0\0\0i"_b);
  EXPECT_EQ((bytes<"v">(as<"(sy)">(std::pair("a", std::uint8_t{1})))), "a\0\1\2\0(sy)"_b);
  using Any = std::variant<int, std::string, std::vector<std::uint8_t>>;
  EXPECT_EQ((bytes<"av">(std::vector<Any>{"s", std::vector<std::uint8_t>{7}})), "s\0\0s\0\0\0\0\7\0ay\4\x0C"_b);
}

TEST(Writer, ElementsFromAFunction) {
  const auto add_entries = [](auto& entries) {
    entries.add("a", as<"u">(1u));
    entries.add("b", "text");
  };
  EXPECT_EQ((bytes<"a{sv}">(add_entries)), (bytes<"a{sv}">(std::pair("a", 1u), std::pair("b", "text"))));
  EXPECT_EQ((bytes<"a(sai)">([](auto& tuples) { tuples.add("x", [](auto& numbers) { numbers.add(5); }); })),
            (bytes<"a(sai)">(std::vector{std::pair("x", std::vector{5})})));
  Output out;
  int calls = 0;
  const auto unsteady = [&calls](auto& texts) {
    for (int i = 0; i <= calls; ++i) texts.add("text");
    ++calls;
  };
  EXPECT_EQ(Writer<"as">::write(out, unsteady).error(), WriteError::Unsteady);
  std::size_t size = 0;
  const auto growing = [&size](auto& texts) { texts.add(std::string(size += 50, 'x')); };
  EXPECT_EQ(Writer<"as">::write_malloced(growing).error(), WriteError::Unsteady);
}

TEST(Writer, RefusesWhatIsNoText) {
  Output out;
  EXPECT_EQ(Writer<"s">::write(out, "\xFF").error(), WriteError::NotText);
  EXPECT_EQ(Writer<"s">::write(out, "a\0b"_b).error(), WriteError::NotText);
  EXPECT_EQ(Writer<"o">::write(out, "a/b").error(), WriteError::NotObjectPath);
  EXPECT_EQ(Writer<"g">::write(out, "mi").error(), WriteError::NotSignature);
  EXPECT_EQ((Writer<"g", DBusFormat<>>::write(out, "()").error()), WriteError::NotSignature);
  EXPECT_EQ((Writer<"g", DBusFormat<>>::write(out, std::string(256, 'i')).error()), WriteError::TooLarge);
}

TEST(Writer, WritesDBus) {
  using Little = DBusFormat<std::endian::little>;
  using Big = DBusFormat<std::endian::big>;
  EXPECT_EQ((bytes<"b", Little>(true)), "\1\0\0\0"_b);
  EXPECT_EQ((bytes<"(ys)", Big>(std::uint8_t{1}, "hi")), "\1\0\0\0\0\0\0\2hi\0"_b);
  EXPECT_EQ((bytes<"g", Little>("ai")), "\2ai\0"_b);
  EXPECT_EQ((bytes<"at", Little>(std::vector<std::uint64_t>{1})), "\x08\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"_b);
  EXPECT_EQ((bytes<"ai", Big>(std::vector{1, 2})), "\0\0\0\x08\0\0\0\1\0\0\0\2"_b);
  EXPECT_EQ((bytes<"a(y)", Little>(std::vector<std::tuple<std::uint8_t>>{})), "\0\0\0\0\0\0\0\0"_b);
  EXPECT_EQ((bytes<"v", Little>(as<"u">(5u))), "\1u\0\0\5\0\0\0"_b);
  EXPECT_EQ((bytes<"a{sv}", Little>(std::pair("k", true))), "\x10\0\0\0\0\0\0\0\1\0\0\0k\0\1b\0\0\0\0\1\0\0\0"_b);
  EXPECT_EQ((bytes<"ab", Little>(std::vector<bool>{true})), "\4\0\0\0\1\0\0\0"_b);
}

TEST(Writer, AppendsAtAMultipleOf8) {
  Output out;
  ASSERT_TRUE(Writer<"s">::write(out, "ab"));
  const Written second = Writer<"i">::append(out, 1);
  EXPECT_EQ(second.bytes(), "\1\0\0\0"_b);
  EXPECT_EQ(out.bytes(), "ab\0\0\0\0\0\0\1\0\0\0"_b);
  EXPECT_FALSE(Writer<"s">::append(out, "\xFF"));
  EXPECT_EQ(out.size(), 12u);
}

TEST(Writer, AllocatesOnceOrNotAtAll) {
  Output out;
  const std::vector<std::string> names(300, "a name");
  ASSERT_TRUE(Writer<"as">::write(out, names));
  const auto before = testing::malloc_counts();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Writer<"as">::write(out, names));
  EXPECT_EQ(testing::malloc_counts().mallocs - before.mallocs, 0u);
  {
    const Block block = Writer<"as">::write_malloced(names);
  }
  EXPECT_EQ(testing::malloc_counts().mallocs - before.mallocs, 1u);
  EXPECT_EQ(testing::malloc_counts().reallocs - before.reallocs, 0u);
  const testing::FailingMalloc failing;
  Output empty;
  EXPECT_EQ(Writer<"as">::write(empty, names).error(), WriteError::OutOfMemory);
  EXPECT_EQ(Writer<"as">::write_malloced(names).error(), WriteError::OutOfMemory);
}

}  // namespace
}  // namespace tare::variant
