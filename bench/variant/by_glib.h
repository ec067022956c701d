// The peer: each message with GLib's builder, in the ways that programs use it.
#pragma once

#include <gio/gio.h>

#include "messages.h"

namespace tare::bench {

inline GVariant* rect_by_add(const Rect& r) {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("(iiii)"));
  g_variant_builder_add(&builder, "i", r.x);
  g_variant_builder_add(&builder, "i", r.y);
  g_variant_builder_add(&builder, "i", r.width);
  g_variant_builder_add(&builder, "i", r.height);
  return g_variant_builder_end(&builder);
}
inline GVariant* rect_by_add_value(const Rect& r) {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("(iiii)"));
  for (const gint32 number : {r.x, r.y, r.width, r.height}) {
    g_variant_builder_add_value(&builder, g_variant_new_int32(number));
  }
  return g_variant_builder_end(&builder);
}
inline GVariant* rect_by_new(const Rect& r) { return g_variant_new("(iiii)", r.x, r.y, r.width, r.height); }
inline GVariant* key_by_new(const KeyEvent& key) { return g_variant_new("(uuu)", key.symbol, key.code, key.state); }

inline GVariant* dictionary_by_add(std::uint32_t size, double ratio) {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("a{sv}"));
  g_variant_builder_add(&builder, "{sv}", texts.keys[0].data(), g_variant_new_string(texts.name.data()));
  g_variant_builder_add(&builder, "{sv}", texts.keys[1].data(), g_variant_new_uint32(size));
  g_variant_builder_add(&builder, "{sv}", texts.keys[2].data(), g_variant_new_boolean(TRUE));
  g_variant_builder_add(&builder, "{sv}", texts.keys[3].data(), g_variant_new_double(ratio));
  g_variant_builder_add(&builder, "{sv}", texts.keys[4].data(), g_variant_new_int64(-7));
  g_variant_builder_add(&builder, "{sv}", texts.keys[5].data(), g_variant_new_string(texts.title.data()));
  g_variant_builder_add(&builder, "{sv}", texts.keys[6].data(), g_variant_new_int32(8));
  g_variant_builder_add(&builder, "{sv}", texts.keys[7].data(), g_variant_new_byte(3));
  return g_variant_builder_end(&builder);
}

inline GVariant* dictionary_by_open(std::uint32_t size, double ratio) {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("a{sv}"));
  const auto add = [&builder](const char* key, const char* type, auto value) {
    g_variant_builder_open(&builder, G_VARIANT_TYPE("{sv}"));
    g_variant_builder_add(&builder, "s", key);
    g_variant_builder_open(&builder, G_VARIANT_TYPE("v"));
    g_variant_builder_add(&builder, type, value);
    g_variant_builder_close(&builder);
    g_variant_builder_close(&builder);
  };
  add(texts.keys[0].data(), "s", texts.name.data());
  add(texts.keys[1].data(), "u", size);
  add(texts.keys[2].data(), "b", TRUE);
  add(texts.keys[3].data(), "d", ratio);
  add(texts.keys[4].data(), "x", gint64{-7});
  add(texts.keys[5].data(), "s", texts.title.data());
  add(texts.keys[6].data(), "i", 8);
  add(texts.keys[7].data(), "y", 3);
  return g_variant_builder_end(&builder);
}

inline GVariant* words_by_add() {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("as"));
  for (const char* word : words) g_variant_builder_add(&builder, "s", word);
  return g_variant_builder_end(&builder);
}
inline GVariant* words_by_strv() { return g_variant_new_strv(words.data(), static_cast<gssize>(words.size())); }

inline GVariant* engine_by_new(const Engine& e) {
  return g_variant_new("(ssssssssussss)", e.name, e.long_name, e.description, e.language, e.license, e.author, e.icon,
                       e.layout, e.rank, e.hotkeys, e.symbol, e.setup, e.version);
}

inline GVariant* empty_dictionary() { return g_variant_new_array(G_VARIANT_TYPE("{sv}"), nullptr, 0); }
inline GVariant* attribute_by_new(guint32 type, guint32 end) {
  return g_variant_new("(s@a{sv}uuuu)", texts.attribute.data(), empty_dictionary(), type, 1U, 0U, end);
}
inline GVariant* preedit_by_new(const char* text) {
  GVariantBuilder attributes;
  g_variant_builder_init(&attributes, G_VARIANT_TYPE("av"));
  g_variant_builder_add(&attributes, "v", attribute_by_new(1, 12));
  g_variant_builder_add(&attributes, "v", attribute_by_new(2, 6));
  GVariant* list = g_variant_new("(s@a{sv}av)", texts.list.data(), empty_dictionary(), &attributes);
  return g_variant_new("(s@a{sv}sv)", texts.text.data(), empty_dictionary(), text, list);
}

inline GVariant* nested_by_add() {
  GVariantBuilder groups;
  g_variant_builder_init(&groups, G_VARIANT_TYPE("a(sa{sv})"));
  for (std::size_t group = 0; group < std::size(texts.groups); ++group) {
    g_variant_builder_open(&groups, G_VARIANT_TYPE("(sa{sv})"));
    g_variant_builder_add(&groups, "s", texts.groups[group].data());
    g_variant_builder_open(&groups, G_VARIANT_TYPE("a{sv}"));
    g_variant_builder_add(&groups, "{sv}", texts.group_keys[0].data(), g_variant_new_boolean(TRUE));
    g_variant_builder_add(&groups, "{sv}", texts.group_keys[1].data(),
                          g_variant_new_string(texts.groups[group].data()));
    g_variant_builder_add(&groups, "{sv}", texts.group_keys[2].data(),
                          g_variant_new_uint32(static_cast<guint32>(group)));
    g_variant_builder_add(&groups, "{sv}", texts.group_keys[3].data(), g_variant_new_double(0.5));
    g_variant_builder_add(&groups, "{sv}", texts.group_keys[4].data(), g_variant_new_int64(1000));
    g_variant_builder_close(&groups);
    g_variant_builder_close(&groups);
  }
  return g_variant_builder_end(&groups);
}

inline GVariant* blobs_by_add() {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("aay"));
  for (const auto& blob : ten_blobs()) {
    g_variant_builder_add_value(&builder, g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, blob.data(), blob.size(), 1));
  }
  return g_variant_builder_end(&builder);
}

inline GVariant* numbers_by_add() {
  GVariantBuilder builder;
  g_variant_builder_init(&builder, G_VARIANT_TYPE("ai"));
  for (const gint32 number : thousand_numbers()) g_variant_builder_add(&builder, "i", number);
  return g_variant_builder_end(&builder);
}
inline GVariant* numbers_by_fixed_array() {
  return g_variant_new_fixed_array(G_VARIANT_TYPE_INT32, thousand_numbers().data(), thousand_numbers().size(), 4);
}

}  // namespace tare::bench
