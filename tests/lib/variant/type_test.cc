// Type strings: what is one, what it measures, what D-Bus has of them. Most of it is the compiler's to check.
#include "tare/variant/type.h"

#include <gtest/gtest.h>

#include <string>

namespace tare::variant {
namespace {

static_assert(is_type("i") && is_type("a{sv}") && is_type("()") && is_type("(ii(s))") && is_type("mmai"));
static_assert(!is_type("") && !is_type("ii") && !is_type("a") && !is_type("(i") && !is_type("i)") && !is_type("{sv"));
static_assert(!is_type("{vs}") && !is_type("a{s}") && !is_type("a{sss}") && !is_type("{(i)s}") && !is_type("z"));
static_assert(!is_type("*") && !is_type("a?") && is_type_pattern("*") && is_type_pattern("a{?*}") &&
              is_type_pattern("r"));
static_assert(!is_type_pattern("{*s}"));

constexpr bool has_layout(Type type, std::size_t fixed_size, std::size_t alignment) {
  const Layout layout = type.layout();
  return layout.fixed_size == fixed_size && layout.alignment == alignment &&
         type_details::shape_at(type.data()).alignment() == alignment &&
         type_details::shape_at(type.data()).is_variable() == (fixed_size == 0);
}
static_assert(has_layout("y", 1, 1) && has_layout("n", 2, 2) && has_layout("h", 4, 4) && has_layout("d", 8, 8));
static_assert(has_layout("s", 0, 1) && has_layout("v", 0, 8) && has_layout("ai", 0, 4) && has_layout("mx", 0, 8));
static_assert(has_layout("()", 1, 1) && has_layout("(y)", 1, 1) && has_layout("(yi)", 8, 4) &&
              has_layout("(iy)", 8, 4));
static_assert(has_layout("(y(yx)y)", 32, 8) && has_layout("((yi)n)", 12, 4) && has_layout("(ys)", 0, 1));
static_assert(has_layout("{yx}", 16, 8) && has_layout("a{sv}", 0, 8) && has_layout("(()())", 2, 1));

static_assert(matches("a{sv}", "a{sv}") && matches("a{sv}", "a{?*}") && matches("a{sv}", "*") && matches("(ii)", "r"));
static_assert(matches("(i(sv))", "(*r)") && !matches("i", "s") && !matches("v", "?") && !matches("(ii)", "(i)"));
static_assert(!matches("(i)", "(ii)") && !matches("()", "(*)") && !matches("ai", "r") && matches("a(ii)", "ar"));

static_assert(is_dbus_signature("") && is_dbus_signature("ia{sv}(ii)") && !is_dbus_signature("mi"));
static_assert(!is_dbus_signature("()") && !is_dbus_signature("{sv}") && !is_dbus_signature("a") &&
              !is_dbus_signature("("));

static_assert(Type("a{sv}").element() == Type("{sv}") && Type("{sv}").value() == Type("v") &&
              Type("{sv}").key() == Type("s"));
static_assert(Type("(i(ss)x)").member_count() == 3 && Type("(i(ss)x)").next(*Type("(i(ss)x)").first()) == Type("(ss)"));
static_assert(!Type("()").first().has_value());

TEST(Type, DepthIsThatOfTheDeepestPart) {
  EXPECT_EQ(Type("i").depth(), 1u);
  EXPECT_EQ(Type("()").depth(), 0u);
  EXPECT_EQ(Type("aai").depth(), 3u);
  EXPECT_EQ(Type("(i(s))").depth(), 3u);
  EXPECT_EQ(Type("a{s(i)}").depth(), 4u);
}

TEST(Type, RefusesWhatIsTooDeep) {
  const std::string arrays(kDeepest, 'a');
  EXPECT_TRUE(Type::parse(arrays + "i").has_value());
  EXPECT_FALSE(Type::parse(arrays + "ai").has_value());
  EXPECT_FALSE(Type::parse(std::string(100'000, 'a') + "i").has_value());
  EXPECT_FALSE(Type::parse(std::string(100'000, '(')).has_value());
  EXPECT_TRUE(is_dbus_signature(std::string(32, 'a') + "i"));
  EXPECT_FALSE(is_dbus_signature(std::string(33, 'a') + "i"));
  EXPECT_TRUE(is_dbus_signature(std::string(32, '(') + "i" + std::string(32, ')')));
  EXPECT_FALSE(is_dbus_signature(std::string(33, '(') + "i" + std::string(33, ')')));
  EXPECT_TRUE(is_dbus_signature(std::string(255, 'i')));
  EXPECT_FALSE(is_dbus_signature(std::string(256, 'i')));
}

}  // namespace
}  // namespace tare::variant
