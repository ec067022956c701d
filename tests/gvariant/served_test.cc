// GLib's builders and formats, served here: the same values, whoever made their parts, and the same ownership.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gvariant/builders.h"
#include "gvariant/logged.h"
#include "gvariant/real.h"
#include "lib/variant/glib_peer.h"

namespace tare {
namespace {

using gvariant::is_ours;
using gvariant::real;
using testing::Choices;
using testing::For;
using testing::GlibValue;
using testing::take;

std::string text_of(GVariant* value) {
  char* text = g_variant_print(value, TRUE);
  std::string result(text);
  g_free(text);
  return result;
}

// Builds `value` again, each part by another way.
GVariant* built_again(GVariant* value, std::mt19937_64& random);

// `is_in_variant`: its type needn't be said.
void add_again(GVariantBuilder* builder, GVariant* value, bool is_in_variant, std::mt19937_64& random) {
  const GVariantType* type = g_variant_get_type(value);
  if (g_variant_is_container(value) && random() % 2 == 0) {
    const bool is_guessed = is_in_variant && g_variant_is_of_type(value, G_VARIANT_TYPE_TUPLE) && random() % 2 == 0;
    const auto* expected = is_guessed ? G_VARIANT_TYPE_TUPLE : type;
    const bool is_variant = g_variant_is_of_type(value, G_VARIANT_TYPE_VARIANT);
    g_variant_builder_open(builder, expected);
    for (gsize i = 0; i < g_variant_n_children(value); ++i) {
      add_again(builder, GlibValue(g_variant_get_child_value(value, i)).get(), is_variant, random);
    }
    return g_variant_builder_close(builder);
  }
  switch (random() % 3) {
    case 0:
      return g_variant_builder_add_value(builder, value);
    case 1:
      return g_variant_builder_add(builder, "*", value);
    default:
      return g_variant_builder_add(builder, "*", built_again(value, random));
  }
}

GVariant* built_again(GVariant* value, std::mt19937_64& random) {
  switch (g_variant_classify(value)) {
    case G_VARIANT_CLASS_STRING:
      return g_variant_new("s", g_variant_get_string(value, nullptr));
    case G_VARIANT_CLASS_INT32:
      return g_variant_new("i", g_variant_get_int32(value));
    default:
      break;
  }
  if (!g_variant_is_container(value)) return g_variant_ref(value);
  GVariantBuilder builder;
  g_variant_builder_init(&builder, g_variant_get_type(value));
  for (gsize i = 0; i < g_variant_n_children(value); ++i) {
    add_again(&builder, GlibValue(g_variant_get_child_value(value, i)).get(), false, random);
  }
  return g_variant_builder_end(&builder);
}

TEST(Served, RandomValuesAreTheSame) {
  std::mt19937_64 random(11);
  testing::Logged logged;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::uint8_t> bytes(400);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    Choices choices(bytes);
    const std::string type = testing::choose_type(choices, For::GVariant);
    const GlibValue value = take(testing::choose_value(choices, type, For::GVariant));
    GVariant* again = built_again(value.get(), random);
    ASSERT_NE(again, nullptr) << logged.take();
    const GlibValue built(g_variant_take_ref(again));
    ASSERT_STREQ(g_variant_get_type_string(built.get()), g_variant_get_type_string(value.get()));
    ASSERT_EQ(text_of(built.get()), text_of(value.get()));
    ASSERT_TRUE(g_variant_equal(built.get(), value.get()));
    ASSERT_TRUE(testing::bytes_of(built.get()) == testing::bytes_of(value.get())) << type;
    ASSERT_TRUE(g_variant_is_normal_form(built.get()));
  }
}

TEST(Served, BuildersAreOursUntilTheirFirstPieceIsAValue) {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("as"));
  EXPECT_TRUE(is_ours(builder));
  g_variant_builder_add_value(&builder, g_variant_new_string("a value"));
  EXPECT_FALSE(is_ours(builder));
  g_variant_builder_add(&builder, "s", "and a text");
  EXPECT_EQ(text_of(take(g_variant_builder_end(&builder)).get()), "['a value', 'and a text']");

  g_variant_builder_init(&builder, G_VARIANT_TYPE("as"));
  g_variant_builder_add(&builder, "s", "a text");
  g_variant_builder_add_value(&builder, g_variant_new_string("and a value"));
  EXPECT_TRUE(is_ours(builder));
  EXPECT_EQ(text_of(take(g_variant_builder_end(&builder)).get()), "['a text', 'and a value']");

  g_variant_builder_init(&builder, G_VARIANT_TYPE_ARRAY);
  EXPECT_FALSE(is_ours(builder));
  g_variant_builder_add(&builder, "(is)", 1, "one");
  EXPECT_EQ(text_of(take(g_variant_builder_end(&builder)).get()), "[(1, 'one')]");
}

// Calls that must be served together: a builder of either kind is valid in any call.
TEST(Served, BuildersOfBothKindsAreArguments) {
  for (const bool is_glibs : {false, true}) {
    const auto words = [is_glibs] {
      GVariantBuilder* builder = g_variant_builder_new(G_VARIANT_TYPE("as"));
      if (is_glibs) {
        g_variant_builder_clear(builder);
        real().init(builder, G_VARIANT_TYPE("as"));
      }
      g_variant_builder_add(builder, "s", "x");
      g_variant_builder_add(builder, "s", "y");
      return builder;
    };
    GVariantBuilder* builders[8];
    for (auto*& builder : builders) builder = words();
    EXPECT_EQ(text_of(take(g_variant_new("as", builders[0])).get()), "['x', 'y']");
    EXPECT_EQ(text_of(take(g_variant_new("(iasmas)", 1, builders[1], nullptr)).get()), "(1, ['x', 'y'], @mas nothing)");
    EXPECT_EQ(text_of(take(g_variant_new("(*a*)", g_variant_new_int32(2), builders[2])).get()), "(2, ['x', 'y'])");
    EXPECT_EQ(text_of(take(g_variant_new_parsed("{\"it's %as\": <%as>}", builders[3])).get()),
              "{\"it's %as\": <['x', 'y']>}");
    GVariantBuilder around;
    g_variant_builder_init(&around, G_VARIANT_TYPE("a(sas)"));
    g_variant_builder_add(&around, "(sas)", "one", builders[4]);
    g_variant_builder_add(&around, "(s@as)", "none", g_variant_new_strv(nullptr, 0));
    g_variant_builder_add_parsed(&around, "('two', %as)", builders[5]);
    EXPECT_EQ(text_of(take(g_variant_builder_end(&around)).get()),
              "[('one', ['x', 'y']), ('none', []), ('two', ['x', 'y'])]");
    GVariantDict dict;
    g_variant_dict_init(&dict, nullptr);
    g_variant_dict_insert(&dict, "key", "(uas)", 7, builders[6]);
    EXPECT_EQ(text_of(take(g_variant_dict_end(&dict)).get()), "{'key': <(uint32 7, ['x', 'y'])>}");
    // a call that can't be served, after the builder was looked at
    testing::Logged logged;
    GVariant* unfinished = g_variant_new("(ass)", builders[7], "\xFF");
    EXPECT_NE(logged.take().find("g_utf8_validate"), std::string::npos);
    if (unfinished != nullptr) g_variant_unref(unfinished);
    for (auto* builder : builders) g_variant_builder_unref(builder);
  }
}

TEST(Served, FloatingValuesEndOnceAndOthersStay) {
  static int freed = 0;
  const auto make = [] {
    static const char kBytes[] = "text";
    return g_variant_new_from_data(
        G_VARIANT_TYPE_STRING, kBytes, sizeof kBytes, TRUE, [](gpointer) { ++freed; }, nullptr);
  };
  freed = 0;
  GVariant* twice = make();
  const GlibValue both = take(g_variant_new("(@s@sv)", twice, twice, make()));
  EXPECT_EQ(freed, 2);
  EXPECT_EQ(text_of(both.get()), "('text', 'text', <'text'>)");
  const GlibValue kept(g_variant_ref_sink(make()));
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("a{sv}"));
  g_variant_builder_add(&builder, "{sv}", "kept", kept.get());
  g_variant_builder_add(&builder, "{sv}", "floating", make());
  g_variant_builder_add(&builder, "{s@s}", "no variant", kept.get());  // says so and adds nothing
  EXPECT_EQ(freed, 3);
  g_variant_builder_clear(&builder);
  EXPECT_STREQ(g_variant_get_string(kept.get(), nullptr), "text");
}

TEST(Served, BuildersMayMoveAndHaveLongTypes) {
  std::string type = "(";
  for (int i = 0; i < 60; ++i) type += "as";
  type += ")";
  for (const char* wanted : {type.c_str(), "(asi)"}) {
    GVariantBuilder first;
    std::string copy(wanted);
    g_variant_builder_init(&first, G_VARIANT_TYPE(copy.c_str()));
    copy.assign(copy.size(), 'x');  // GLib copies types
    GVariantBuilder second;
    std::memcpy(&second, &first, sizeof first);
    std::memset(&first, 0x55, sizeof first);
    g_variant_builder_add(&second, "as", nullptr);
    std::memcpy(&first, &second, sizeof first);
    for (gsize i = 1; i < (std::strlen(wanted) - 2) / 2; ++i) g_variant_builder_add(&first, "as", nullptr);
    if (std::strcmp(wanted, "(asi)") == 0) g_variant_builder_add(&first, "i", 5);
    const GlibValue value = take(g_variant_builder_end(&first));
    EXPECT_STREQ(g_variant_get_type_string(value.get()), wanted);
  }
}

TEST(Served, StaticInitialisersClearingAndReferences) {
  GVariantBuilder unused = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE("as"));
  g_variant_builder_clear(&unused);
  GVariantBuilder builder = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE("as"));
  g_variant_builder_add(&builder, "s", "first");
  EXPECT_TRUE(is_ours(builder));
  g_variant_builder_clear(&builder);
  g_variant_builder_clear(&builder);
  GVariantBuilder open = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE("av"));
  g_variant_builder_open(&open, G_VARIANT_TYPE_VARIANT);
  g_variant_builder_open(&open, G_VARIANT_TYPE_ARRAY);
  g_variant_builder_add(&open, "s", "never closed");
  g_variant_builder_clear(&open);
  GVariantBuilder* shared = g_variant_builder_new(G_VARIANT_TYPE("as"));
  EXPECT_EQ(g_variant_builder_ref(shared), shared);
  g_variant_builder_unref(shared);
  g_variant_builder_add(shared, "s", "still there");
  EXPECT_EQ(text_of(take(g_variant_builder_end(shared)).get()), "['still there']");
  g_variant_builder_unref(shared);
}

// Values that aren't in normal form go in as they are, and the whole isn't trusted then.
TEST(Served, BrokenBytesStayWhatTheyAre) {
  const GlibValue broken =
      take(g_variant_new_from_data(G_VARIANT_TYPE("as"), "\xFF\xFF\xFF", 3, FALSE, nullptr, nullptr));
  for (const bool is_glibs : {false, true}) {
    GVariantBuilder builder;
    (is_glibs ? real().init : g_variant_builder_init)(&builder, G_VARIANT_TYPE("(sas)"));
    g_variant_builder_add(&builder, "s", "text");
    EXPECT_EQ(is_ours(builder), !is_glibs);
    g_variant_builder_add_value(&builder, broken.get());
    const GlibValue value = take(g_variant_builder_end(&builder));
    EXPECT_FALSE(g_variant_is_normal_form(value.get()));
    EXPECT_EQ(testing::bytes_of(value.get()), std::string_view("text\0\xFF\xFF\xFF\5", 9));
  }
}

TEST(Served, ThreadsBuildAtOnce) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 2000; ++i) {
        GVariantBuilder builder;
        g_variant_builder_init(&builder, G_VARIANT_TYPE("a(ia{sv})"));
        g_variant_builder_open(&builder, G_VARIANT_TYPE("(ia{sv})"));
        g_variant_builder_add(&builder, "i", thread);
        g_variant_builder_open(&builder, G_VARIANT_TYPE("a{sv}"));
        g_variant_builder_add(&builder, "{sv}", "key", g_variant_new("(ii)", i, i));
        g_variant_builder_close(&builder);
        g_variant_builder_close(&builder);
        GVariant* value = nullptr;
        // a builder may end elsewhere
        std::thread([&] { value = g_variant_ref_sink(g_variant_builder_end(&builder)); }).join();
        EXPECT_EQ(g_variant_n_children(value), 1u);
        g_variant_unref(value);
        if (i > 200) i += 50;
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tare
