// The C API: what it refuses and keeps, who owns what, reading by formats, dictionaries.
#include "tare/variant/c.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Unref {
  void operator()(tare_variant* value) const { tare_variant_unref(value); }
};
using Value = std::unique_ptr<tare_variant, Unref>;
Value own(tare_variant* value) { return Value(value == nullptr ? nullptr : tare_variant_ref_sink(value)); }

std::string text_of(tare_variant* value) {
  if (value == nullptr) return "null";
  char* text = tare_variant_print(value, TARE_VARIANT_PRINT_TYPES);
  std::string result(text);
  std::free(text);
  return result;
}
std::string end_of(tare_variant_builder& builder) { return text_of(own(tare_variant_builder_end(&builder)).get()); }

TEST(VariantC, WhatFailsLeavesTheRestAsItWas) {
  tare_variant_builder builder;
  ASSERT_TRUE(tare_variant_builder_init(&builder, "a(sv)"));
  EXPECT_TRUE(tare_variant_builder_add(&builder, "(sv)", "first", tare_variant_new_int32(1)));
  const Value unread = own(tare_variant_new_int32(2));  // stays ours: what comes after a wrong argument isn't read
  EXPECT_FALSE(tare_variant_builder_add(&builder, "(sv)", "\xFF", unread.get()));
  EXPECT_STREQ(tare_variant_builder_error(&builder), "a text isn't UTF-8, or has a zero inside");
  EXPECT_FALSE(tare_variant_builder_add(&builder, "(su)", "other type", 3));
  EXPECT_FALSE(tare_variant_builder_add(&builder, "(s", "no format"));
  EXPECT_FALSE(tare_variant_builder_add_value(&builder, tare_variant_new_int32(4)));
  EXPECT_FALSE(tare_variant_builder_open(&builder, "(ss)"));
  EXPECT_FALSE(tare_variant_builder_open(&builder, "s"));
  EXPECT_TRUE(tare_variant_builder_open(&builder, "(sv)"));
  EXPECT_EQ(tare_variant_builder_end(&builder), nullptr);
  EXPECT_STREQ(tare_variant_builder_error(&builder), "the value isn't complete");
  EXPECT_FALSE(tare_variant_builder_close(&builder));
  EXPECT_TRUE(tare_variant_builder_add(&builder, "s", "last"));
  EXPECT_TRUE(tare_variant_builder_open(&builder, "v"));
  EXPECT_FALSE(tare_variant_builder_close(&builder));  // a variant always holds something
  EXPECT_FALSE(tare_variant_builder_add(&builder, "o", "no path"));
  EXPECT_TRUE(tare_variant_builder_add(&builder, "as", static_cast<tare_variant_builder*>(nullptr)));
  EXPECT_FALSE(tare_variant_builder_add(&builder, "i", 5));  // nor more than one
  EXPECT_TRUE(tare_variant_builder_close(&builder));
  EXPECT_TRUE(tare_variant_builder_close(&builder));
  EXPECT_FALSE(tare_variant_builder_close(&builder));
  EXPECT_EQ(end_of(builder), "[('first', <1>), ('last', <@as []>)]");
  EXPECT_FALSE(tare_variant_builder_add(&builder, "(sv)", "ended", nullptr));
  EXPECT_EQ(tare_variant_builder_end(&builder), nullptr);
}

TEST(VariantC, RefusesTypesAndValues) {
  tare_variant_builder builder;
  for (const char* type : {"", "i", "s", "a*", "r", "(i", "ii", "{vs}"}) {
    EXPECT_FALSE(tare_variant_builder_init(&builder, type)) << type;
    EXPECT_EQ(tare_variant_builder_new(type), nullptr);
  }
  EXPECT_EQ(tare_variant_new("(ii", 1, 2), nullptr);
  EXPECT_EQ(tare_variant_new("ii", 1, 2), nullptr);
  EXPECT_EQ(tare_variant_new_string("\xC3"), nullptr);
  EXPECT_EQ(tare_variant_new_object_path("tare"), nullptr);
  EXPECT_EQ(tare_variant_new_signature("("), nullptr);
  EXPECT_EQ(tare_variant_new_array(nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(tare_variant_new_maybe("*", nullptr), nullptr);
  EXPECT_EQ(tare_variant_new_dict_entry(tare_variant_take_ref(own(tare_variant_new("()")).get()), nullptr), nullptr);
  EXPECT_EQ(tare_variant_new_parsed("[%i, 'text']", 1), nullptr);
  EXPECT_EQ(tare_variant_new_parsed("%"), nullptr);
  char* message = nullptr;
  EXPECT_EQ(tare_variant_parse(nullptr, "[1, what]", &message), nullptr);
  EXPECT_STREQ(message, "4-8:unknown keyword");
  std::free(message);
}

TEST(VariantC, ValuesAreFloatingUntilTheyAreSunk) {
  tare_variant* value = tare_variant_new_string("text");
  EXPECT_TRUE(tare_variant_is_floating(value));
  tare_variant_ref_sink(value);
  EXPECT_FALSE(tare_variant_is_floating(value));
  const Value first = own(tare_variant_new_variant(value));
  const Value second = own(tare_variant_new("(@sv)", value, value));  // not floating: still the caller's
  EXPECT_EQ(text_of(second.get()), "('text', <'text'>)");
  EXPECT_STREQ(tare_variant_get_string(value, nullptr), "text");
  tare_variant_unref(value);
}

TEST(VariantC, PartsKeepTheWhole) {
  tare_variant* whole = tare_variant_take_ref(tare_variant_new_parsed("[('one', <@as ['x', 'y']>)]"));
  tare_variant* entry = tare_variant_get_child_value(whole, 0);
  tare_variant_unref(whole);
  tare_variant* boxed = tare_variant_get_child_value(entry, 1);
  tare_variant_unref(entry);
  const Value words(tare_variant_get_variant(boxed));
  tare_variant_unref(boxed);
  EXPECT_STREQ(tare_variant_get_type_string(words.get()), "as");
  EXPECT_EQ(text_of(words.get()), "['x', 'y']");
  EXPECT_EQ(tare_variant_get_child_value(words.get(), 2), nullptr);
}

TEST(VariantC, ReadsByFormats) {
  const Value value = own(tare_variant_new_parsed(
      "(true, byte 2, int16 -3, uint16 4, -5, uint32 6, int64 -7, uint64 8, 1.5, 'text', ['a', 'b'], b'bytes', "
      "<(1, 2)>, @mi 9, @mi nothing, @ms nothing, @m(is) (3, 'in'))"));
  int truth = 0, has = 0, number = 0, has_not = 1, not_there = 7, has_pair = 0, in_pair = 0;
  std::uint8_t byte = 0;
  std::int16_t int16 = 0;
  std::uint16_t uint16 = 0;
  std::int32_t int32 = 0;
  std::uint32_t uint32 = 0;
  std::int64_t int64 = 0;
  std::uint64_t uint64 = 0;
  double real = 0;
  const char *text = nullptr, *bytes = nullptr, *pair_text = nullptr;
  char untouched = 0;
  char* nothing = &untouched;
  const char** list = nullptr;
  tare_variant* boxed = nullptr;
  ASSERT_TRUE(tare_variant_get(value.get(), "(bynqiuxtd&s^a&s^&ayvmimimsm(i&s))", &truth, &byte, &int16, &uint16,
                               &int32, &uint32, &int64, &uint64, &real, &text, &list, &bytes, &boxed, &has, &number,
                               &has_not, &not_there, &nothing, &has_pair, &in_pair, &pair_text));
  EXPECT_EQ(truth, 1);
  EXPECT_EQ(byte, 2);
  EXPECT_EQ(int16, -3);
  EXPECT_EQ(uint16, 4);
  EXPECT_EQ(int32, -5);
  EXPECT_EQ(uint32, 6u);
  EXPECT_EQ(int64, -7);
  EXPECT_EQ(uint64, 8u);
  EXPECT_EQ(real, 1.5);
  EXPECT_STREQ(text, "text");
  EXPECT_STREQ(bytes, "bytes");
  ASSERT_NE(list, nullptr);
  EXPECT_STREQ(list[1], "b");
  EXPECT_EQ(list[2], nullptr);
  std::free(list);
  EXPECT_EQ(text_of(boxed), "(1, 2)");
  tare_variant_unref(boxed);
  EXPECT_TRUE(has == 1 && number == 9 && has_not == 0 && not_there == 0 && nothing == nullptr);
  EXPECT_TRUE(has_pair == 1 && in_pair == 3);
  EXPECT_STREQ(pair_text, "in");
  EXPECT_FALSE(tare_variant_get(value.get(), "(bb)", &truth, &has));
  EXPECT_FALSE(tare_variant_get(value.get(), "r trailing", &boxed));
}

TEST(VariantC, IteratesAndLooksUp) {
  const Value value = own(tare_variant_new_parsed("{'one': <1>, 'two': <'zwei'>, 'three': <3.0>}"));
  tare_variant_iter iter;
  EXPECT_EQ(tare_variant_iter_init(&iter, value.get()), 3u);
  std::string all;
  char* key = nullptr;
  for (tare_variant* inside = nullptr; tare_variant_iter_next(&iter, "{sv}", &key, &inside);) {
    all += std::string(key) + "=" + text_of(inside) + " ";
    std::free(key);
    tare_variant_unref(inside);
  }
  EXPECT_EQ(all, "one=1 two='zwei' three=3.0 ");
  EXPECT_EQ(tare_variant_iter_next_value(&iter), nullptr);
  int number = 0;
  const char* text = nullptr;
  EXPECT_TRUE(tare_variant_lookup(value.get(), "one", "i", &number));
  EXPECT_EQ(number, 1);
  EXPECT_FALSE(tare_variant_lookup(value.get(), "two", "i", &number));
  EXPECT_TRUE(tare_variant_lookup(value.get(), "two", "&s", &text));
  EXPECT_STREQ(text, "zwei");
  EXPECT_FALSE(tare_variant_lookup(value.get(), "four", "i", &number));
  EXPECT_EQ(Value(tare_variant_lookup_value(value.get(), "one", "s")), nullptr);
  EXPECT_EQ(text_of(Value(tare_variant_lookup_value(value.get(), "three", "?")).get()), "3.0");

  const Value arrays = own(tare_variant_new_parsed("(1, [[1, 2], [3]])"));
  tare_variant_iter* outer = nullptr;
  ASSERT_TRUE(tare_variant_get(arrays.get(), "(iaai)", nullptr, &outer));
  EXPECT_EQ(tare_variant_iter_n_children(outer), 2u);
  EXPECT_EQ(text_of(Value(tare_variant_iter_next_value(outer)).get()), "[1, 2]");
  tare_variant_iter_free(outer);
}

TEST(VariantC, DictionariesChange) {
  const Value from = own(tare_variant_new_parsed("{'one': <1>, 'two': <2>, 'three': <3>}"));
  tare_variant_dict dict;
  ASSERT_TRUE(tare_variant_dict_init(&dict, from.get()));
  EXPECT_TRUE(tare_variant_dict_remove(&dict, "two"));
  EXPECT_FALSE(tare_variant_dict_remove(&dict, "two"));
  EXPECT_FALSE(tare_variant_dict_contains(&dict, "two"));
  EXPECT_TRUE(tare_variant_dict_insert(&dict, "one", "s", "eins"));
  EXPECT_TRUE(tare_variant_dict_insert(&dict, "two", "(ii)", 2, 2));
  EXPECT_FALSE(tare_variant_dict_insert(&dict, "bad", "s", "\xFF"));
  int number = 0;
  EXPECT_TRUE(tare_variant_dict_lookup(&dict, "three", "i", &number));
  EXPECT_EQ(number, 3);
  EXPECT_FALSE(tare_variant_dict_lookup(&dict, "one", "i", &number));
  EXPECT_EQ(text_of(own(tare_variant_dict_end(&dict)).get()), "{'one': <'eins'>, 'three': <3>, 'two': <(2, 2)>}");
  tare_variant_dict_clear(&dict);
  EXPECT_FALSE(tare_variant_dict_init(&dict, own(tare_variant_new_strv(nullptr, 0)).get()));
}

// glib_messages_test.c compares the results with GLib's; these calls are mistakes by GLib's rules.
TEST(VariantC, LoopsRefuseOtherFormats) {
  const Value value = own(tare_variant_new_parsed("[('a', 1), ('b', 2)]"));
  tare_variant_iter iter;
  tare_variant_iter_init(&iter, value.get());
  char untouched = 0;
  char* text = &untouched;
  int number = 7;
  EXPECT_FALSE(tare_variant_iter_loop(&iter, "(si", &text, &number));
  EXPECT_FALSE(tare_variant_iter_loop(&iter, "(ii)", &text, &number));
  EXPECT_EQ(text, &untouched);
  const char* const format = "(si)";
  EXPECT_TRUE(tare_variant_iter_loop(&iter, format, &text, &number));
  EXPECT_STREQ(text, "a");
  EXPECT_FALSE(tare_variant_iter_loop(&iter, "(&si)", &text, &number));
  EXPECT_STREQ(text, "a") << "a loop with another format has set nothing";
  EXPECT_TRUE(tare_variant_iter_loop(&iter, format, &text, &number));
  EXPECT_STREQ(text, "b");
  EXPECT_FALSE(tare_variant_iter_loop(&iter, format, &text, &number));
  EXPECT_TRUE(text == nullptr && number == 0);

  // Members of a tuple have types of their own: the first other one ends the loop.
  const Value tuple = own(tare_variant_new_parsed("('a', 'b', 3, 'c')"));
  tare_variant_iter_init(&iter, tuple.get());
  const char* const text_format = "s";
  EXPECT_TRUE(tare_variant_iter_loop(&iter, text_format, &text));
  EXPECT_TRUE(tare_variant_iter_loop(&iter, text_format, &text));
  EXPECT_STREQ(text, "b");
  EXPECT_FALSE(tare_variant_iter_loop(&iter, text_format, &text));
  EXPECT_EQ(text, nullptr);
}

TEST(VariantC, LoopsFreeWhatTheyHaveSet) {  // leak checkers tell if they don't
  const Value value = own(tare_variant_new_parsed(
      "[(['a', 'b'], [b'x', b'y'], <1>, b'text', [1]), (['c'], [], <2>, b'', []), ([], [b'z'], <3>, b'u', [4, 5])]"));
  tare_variant_iter iter;
  tare_variant_iter_init(&iter, value.get());
  char **words = nullptr, **blobs = nullptr;
  char* bytes = nullptr;
  tare_variant* inside = nullptr;
  tare_variant* whole = nullptr;
  int count = 0;
  while (tare_variant_iter_loop(&iter, "(^as^aayv^ay@ai)", &words, &blobs, &inside, &bytes, &whole)) ++count;
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(words == nullptr && blobs == nullptr && inside == nullptr && bytes == nullptr && whole == nullptr);
  tare_variant_iter_init(&iter, value.get());
  const char **borrowed_words = nullptr, **borrowed_blobs = nullptr;
  const char* borrowed_bytes = nullptr;
  tare_variant_iter* numbers = nullptr;
  std::size_t sum = 0;
  while (tare_variant_iter_loop(&iter, "(^a&s^a&ay*^&ayai)", &borrowed_words, &borrowed_blobs, &inside, &borrowed_bytes,
                                &numbers)) {
    sum += tare_variant_iter_n_children(numbers);
  }
  EXPECT_EQ(sum, 3u);
}

TEST(VariantC, HeapDictionariesRefuseOtherTypes) {
  const Value words = own(tare_variant_new_strv(nullptr, 0));
  EXPECT_EQ(tare_variant_dict_new(words.get()), nullptr);
  tare_variant_dict_unref(nullptr);
  tare_variant_iter_free(nullptr);
}

TEST(VariantC, BytesOfOthersMayBeAnything) {
  const Value broken = own(tare_variant_new_from_data("(sav)", "\xFF\xFF\xFF\xFF", 4));
  EXPECT_FALSE(tare_variant_is_normal_form(broken.get()));
  EXPECT_EQ(text_of(broken.get()), "('', @av [])");
  const Value normal(tare_variant_get_normal_form(broken.get()));
  EXPECT_TRUE(tare_variant_is_normal_form(normal.get()));
  EXPECT_TRUE(tare_variant_equal(broken.get(), normal.get()));
  EXPECT_EQ(tare_variant_hash(broken.get()), tare_variant_hash(normal.get()));
  EXPECT_EQ(tare_variant_compare(broken.get(), normal.get()), 0);
  const Value around = own(tare_variant_new("(v)", broken.get()));
  EXPECT_TRUE(tare_variant_is_normal_form(around.get()));

  const Value numbers = own(tare_variant_new_parsed("[1, 2, 3]"));
  const Value swapped(tare_variant_byteswap(numbers.get()));
  EXPECT_EQ(text_of(swapped.get()), "[16777216, 33554432, 50331648]");
  std::size_t count = 0;
  const auto* elements = static_cast<const std::int32_t*>(tare_variant_get_fixed_array(numbers.get(), &count, 4));
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(elements[2], 3);
  EXPECT_EQ(tare_variant_get_fixed_array(numbers.get(), &count, 8), nullptr);
}

// Variants in variants in bytes of others: what lies too deep reads as ().
TEST(VariantC, DepthHasAnEnd) {
  std::string bytes("\7\0y", 3);
  for (int i = 0; i < 300; ++i) bytes.append("\0v", 2);
  tare_variant* value = tare_variant_take_ref(tare_variant_new_from_data("v", bytes.data(), bytes.size()));
  int levels = 0;
  while (std::strcmp(tare_variant_get_type_string(value), "v") == 0) {
    tare_variant* inside = tare_variant_get_variant(value);
    tare_variant_unref(value);
    value = inside;
    ++levels;
  }
  EXPECT_STREQ(tare_variant_get_type_string(value), "()");
  EXPECT_LE(levels, 128);
  tare_variant_unref(value);
}

TEST(VariantC, HeapBuildersEndWithTheirLastReference) {
  tare_variant_builder* builder = tare_variant_builder_new("as");
  ASSERT_NE(builder, nullptr);
  EXPECT_EQ(tare_variant_builder_ref(builder), builder);
  tare_variant_builder_unref(builder);
  EXPECT_TRUE(tare_variant_builder_add(builder, "s", "still there"));
  EXPECT_EQ(end_of(*builder), "['still there']");
  tare_variant_builder_unref(builder);
}

}  // namespace
