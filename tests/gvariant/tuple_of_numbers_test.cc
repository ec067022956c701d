// Tuples of numbers, written into the builder itself, and the ways out of it in the middle.
#include "gvariant/tuple_of_numbers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gvariant/builders.h"
#include "gvariant/logged.h"
#include "gvariant/real.h"
#include "lib/variant/glib_peer.h"

// In GLib since 2.84.
extern "C" void g_variant_builder_init_static(GVariantBuilder* builder, const GVariantType* type);

namespace tare {
namespace {

using gvariant::is_ours;
using testing::GlibValue;
using testing::take;

struct Number {
  char code;
  std::uint64_t bits;

  // By a function that isn't served.
  GVariant* value() const {
    switch (code) {
      case 'b':
        return g_variant_new_boolean(bits % 2 != 0);
      case 'y':
        return g_variant_new_byte(static_cast<guint8>(bits));
      case 'n':
        return g_variant_new_int16(static_cast<gint16>(bits));
      case 'q':
        return g_variant_new_uint16(static_cast<guint16>(bits));
      case 'i':
        return g_variant_new_int32(static_cast<gint32>(bits));
      case 'u':
        return g_variant_new_uint32(static_cast<guint32>(bits));
      case 'h':
        return g_variant_new_handle(static_cast<gint32>(bits));
      case 'x':
        return g_variant_new_int64(static_cast<gint64>(bits));
      case 't':
        return g_variant_new_uint64(bits);
      default:
        return g_variant_new_double(static_cast<double>(bits));
    }
  }
  void add_to(GVariantBuilder* builder) const {
    const char format[] = {code, 0};
    switch (code) {
      case 'b':
        return g_variant_builder_add(builder, format, bits % 2 != 0 ? TRUE : FALSE);
      case 'x':
      case 't':
        return g_variant_builder_add(builder, format, bits);
      case 'd':
        return g_variant_builder_add(builder, format, static_cast<double>(bits));
      case 'y':
        return g_variant_builder_add(builder, format, static_cast<int>(static_cast<guint8>(bits)));
      case 'n':
        return g_variant_builder_add(builder, format, static_cast<int>(static_cast<gint16>(bits)));
      case 'q':
        return g_variant_builder_add(builder, format, static_cast<int>(static_cast<guint16>(bits)));
      default:
        return g_variant_builder_add(builder, format, static_cast<gint32>(bits));
    }
  }
};

std::vector<Number> random_numbers(std::mt19937_64& random) {
  std::vector<Number> numbers(1 + random() % (random() % 4 == 0 ? 50 : 8));
  for (Number& number : numbers) number = {"bynqiuhxtd"[random() % 10], random()};
  return numbers;
}

std::string type_of(const std::vector<Number>& numbers) {
  std::string type = "(";
  for (const Number& number : numbers) type += number.code;
  return type + ")";
}

GlibValue expected_of(const std::vector<Number>& numbers) {
  std::vector<GVariant*> values;
  for (const Number& number : numbers) values.push_back(number.value());
  return take(g_variant_new_tuple(values.data(), values.size()));
}

void expect_same(const GlibValue& built, const std::vector<Number>& numbers) {
  const GlibValue expected = expected_of(numbers);
  ASSERT_STREQ(g_variant_get_type_string(built.get()), g_variant_get_type_string(expected.get()));
  ASSERT_TRUE(testing::bytes_of(built.get()) == testing::bytes_of(expected.get())) << type_of(numbers);
  ASSERT_TRUE(g_variant_is_normal_form(built.get()));
}

TEST(TupleOfNumbers, BytesAreGlibs) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::vector<Number> numbers = random_numbers(random);
    const std::string type = type_of(numbers);
    GVariantBuilder builder;
    std::memset(&builder, 0xA5, sizeof builder);
    (random() % 2 == 0 ? g_variant_builder_init : g_variant_builder_init_static)(&builder,
                                                                                 gvariant::as_type(type.c_str()));
    for (const Number& number : numbers) number.add_to(&builder);
    expect_same(take(g_variant_builder_end(&builder)), numbers);
  }
}

// What isn't a number by its code goes to the builder's general way, and so does the rest.
TEST(TupleOfNumbers, EachPieceMayComeByAnotherWay) {
  std::mt19937_64 random(2);
  testing::Logged logged;
  for (int i = 0; i < 20000; ++i) {
    const std::vector<Number> numbers = random_numbers(random);
    const std::string type = type_of(numbers);
    GVariantBuilder builder;
    g_variant_builder_init(&builder, gvariant::as_type(type.c_str()));
    for (const Number& number : numbers) {
      switch (random() % 8) {
        case 0:
          g_variant_builder_add_value(&builder, number.value());
          break;
        case 1:
          g_variant_builder_add(&builder, "*", number.value());
          break;
        case 2:
          g_variant_builder_add(&builder, (std::string("@") + number.code).c_str(), number.value());
          break;
        case 3:
          g_variant_builder_add_parsed(&builder, "%*", number.value());
          break;
        default:
          number.add_to(&builder);
      }
    }
    if (random() % 4 == 0) {  // as an argument of another one
      const GlibValue outer = take(g_variant_new("(v)", g_variant_builder_end(&builder)));
      const GlibValue variant(g_variant_get_child_value(outer.get(), 0));
      expect_same(GlibValue(g_variant_get_variant(variant.get())), numbers);
    } else {
      expect_same(take(g_variant_builder_end(&builder)), numbers);
    }
  }
  EXPECT_EQ(logged.count(), 0) << logged.take();
}

TEST(TupleOfNumbers, MistakesAreLoggedAndAddNothing) {
  testing::Logged logged;
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("(iu)"));
  g_variant_builder_add(&builder, "i", 1);
  EXPECT_EQ(g_variant_builder_end(&builder), nullptr);  // incomplete
  EXPECT_EQ(logged.count(), 1) << logged.take();
  g_variant_builder_add(&builder, "s", "no number");
  EXPECT_EQ(logged.count(), 2) << logged.take();
  g_variant_builder_add(&builder, "u", 2);
  const GlibValue value = take(g_variant_builder_end(&builder));
  EXPECT_TRUE(g_variant_equal(value.get(), take(g_variant_new_parsed("(1, uint32 2)")).get()));

  g_variant_builder_init(&builder, G_VARIANT_TYPE("(iu)"));
  EXPECT_TRUE(is_ours(builder));
  g_variant_builder_add(&builder, "i", 1);
  g_variant_builder_clear(&builder);
  EXPECT_FALSE(is_ours(builder));
}

TEST(TupleOfNumbers, ValuesByFormat) {
  const GlibValue value = take(g_variant_new("(ybnqiuhxtd)", 255, 7, -2, 65535, -3, 4000000000U, 5,
                                             G_GINT64_CONSTANT(-6), G_GUINT64_CONSTANT(1) << 63, 0.5));
  const GlibValue expected = take(g_variant_new_parsed(
      "(byte 255, true, int16 -2, uint16 65535, -3, uint32 4000000000, handle 5, int64 -6, uint64 9223372036854775808, "
      "0.5)"));
  EXPECT_TRUE(testing::bytes_of(value.get()) == testing::bytes_of(expected.get()));
  const GlibValue many = take(g_variant_new("(ttttttt)", std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                            std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{6}, std::uint64_t{7}));
  EXPECT_EQ(g_variant_get_size(many.get()), 56U);  // more than there's room for
}

}  // namespace
}  // namespace tare
