// Values out of views into C++ types, which come back as they went in.
#include "tare/variant/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tare/variant/writer.h"

namespace {
struct Key {
  std::uint32_t symbol = 0;
  std::string name;
  bool is_release = false;
};

struct Point {
  std::int32_t x, y;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Flags {
  bool a, b;
};
}  // namespace
template <>
inline constexpr auto tare::variant::fields<Point> = std::tuple(&Point::x, &Point::y);
template <>
inline constexpr auto tare::variant::fields<Flags> = std::tuple(&Flags::a, &Flags::b);
template <>
inline constexpr auto tare::variant::fields<Key> = std::tuple(&Key::symbol, &Key::name, &Key::is_release);

namespace tare::variant {
namespace {

template <typename Value>
Value there_and_back(const Value& value) {
  Output out;
  constexpr auto kType = natural_type<Value>;
  EXPECT_TRUE(Writer<kType>::write(out, value));
  return View(Type::trusted(kType.view()), out.bytes()).template to<Value>().value();
}

template <TypeText kType, typename Value>
std::string there_as_bytes(const Value& value) {
  Output out;
  return std::string(Writer<kType>::write(out, value).bytes());
}

TEST(Convert, ContainersComeBack) {
  const std::map<std::string, std::vector<int>> map{{"a", {1, 2}}, {"b", {}}};
  EXPECT_EQ(there_and_back(map), map);
  const std::vector<std::tuple<bool, std::optional<double>, std::string>> rows{{true, 1.5, "x"}, {false, {}, ""}};
  EXPECT_EQ(there_and_back(rows), rows);
  using Any = std::variant<int, std::string, bool>;
  const std::vector<Any> anys{1, "s", true};
  EXPECT_EQ(there_and_back(anys), anys);
  const std::pair<std::uint8_t, std::int64_t> pair{1, -1};
  EXPECT_EQ(there_and_back(pair), pair);
}

TEST(Convert, ArraysComeBackAsOneCopyOrNone) {
  const std::vector<Point> points{{1, -2}, {3, 4}};
  EXPECT_EQ(there_and_back(points), points);
  const std::array<std::array<std::uint16_t, 2>, 2> grid{{{1, 2}, {3, 4}}};
  EXPECT_EQ(there_and_back(grid), grid);
  Output out;
  Writer<"a(ii)">::write(out, points);
  const View view("a(ii)", out.bytes());
  const auto span = view.to<std::span<const Point>>();
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(static_cast<const void*>(span->data()), out.bytes().data());
  EXPECT_EQ((*span)[1], (Point{3, 4}));
  EXPECT_FALSE(view.to<std::span<const std::int64_t>>().has_value());
  // not as they lie there: another order, a place that is no multiple of 4
  Writer<"a(ii)", GVariantFormat<std::endian::big>>::write(out, points);
  const View big("a(ii)", out.bytes(), std::endian::big);
  EXPECT_FALSE(big.to<std::span<const Point>>().has_value());
  EXPECT_EQ(big.to<std::vector<Point>>(), points);
  const std::string shifted = " " + there_as_bytes<"a(ii)">(points);
  EXPECT_FALSE(View("a(ii)", std::string_view(shifted).substr(1)).to<std::span<const Point>>().has_value());
  EXPECT_EQ(View("a(ii)", std::string_view(shifted).substr(1)).to<std::vector<Point>>(), points);
  // an array has as many elements as it has
  EXPECT_FALSE((View("ai", std::string_view("\1\0\0\0", 4)).to<std::array<int, 2>>().has_value()));
}

TEST(Convert, BoolsOfOthersAreReadOneByOne) {
  const std::string_view bytes("\1\2\0\3", 4);
  const auto flags = View("a(bb)", bytes).to<std::vector<Flags>>();
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(flags->size(), 2u);
  EXPECT_TRUE((*flags)[0].b && (*flags)[1].b && !(*flags)[1].a);
  EXPECT_FALSE(View("a(bb)", bytes).to<std::span<const Flags>>().has_value());
  View valid("a(bb)", std::string_view("\1\0", 2));
  ASSERT_TRUE(valid.validate());
  EXPECT_TRUE(valid.to<std::span<const Flags>>()->front().a);
}

TEST(Convert, DescribedStructsComeBack) {
  const Key key{65, "A", true};
  const Key back = there_and_back(key);
  EXPECT_EQ(back.symbol, 65u);
  EXPECT_EQ(back.name, "A");
  EXPECT_TRUE(back.is_release);
}

TEST(Convert, NothingComesOutOfOtherTypes) {
  Output out;
  Writer<"ai">::write(out, std::vector{1});
  const View view("ai", out.bytes());
  EXPECT_FALSE(view.to<std::vector<std::uint32_t>>().has_value());
  EXPECT_FALSE(view.to<std::vector<std::string>>().has_value());
  EXPECT_FALSE(view.to<int>().has_value());
  EXPECT_FALSE((view.to<std::tuple<int>>().has_value()));
  EXPECT_TRUE(view.to<std::vector<int>>().has_value());
  const View empty("ai", "");
  EXPECT_TRUE(empty.to<std::vector<int>>().has_value());
  EXPECT_FALSE(empty.to<std::vector<std::string>>().has_value());
  EXPECT_FALSE((empty.to<std::map<int, int>>().has_value()));
  EXPECT_TRUE((View("a{sv}", "").to<std::map<std::string, View>>().has_value()));
}

TEST(Convert, ViewsTakeAnything) {
  Output out;
  Writer<"a{sv}">::write(out, std::pair("a", 1), std::pair("b", "x"));
  const auto map = View("a{sv}", out.bytes()).to<std::map<std::string_view, View>>();
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->at("a").as_int32(), 1);
  EXPECT_EQ(map->at("b").text(), "x");
}

}  // namespace
}  // namespace tare::variant
