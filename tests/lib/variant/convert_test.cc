// Values out of views into C++ types, which come back as they went in.
#include "tare/variant/convert.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tare/variant/writer.h"

namespace {
struct Key {
  std::uint32_t symbol = 0;
  std::string name;
  bool is_release = false;
};
}  // namespace
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
