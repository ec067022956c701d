// Ours by the C API with GLib's names: by_glib.h's messages, call for call.
#pragma once

#include "messages.h"
#include "tare/variant/c.h"

namespace tare::bench {

inline tare_variant* rect_by_c_add() {
  tare_variant_builder builder;
  tare_variant_builder_init(&builder, "(iiii)");
  for (const std::int32_t number : {rect.x, rect.y, rect.width, rect.height}) {
    tare_variant_builder_add(&builder, "i", number);
  }
  return tare_variant_builder_end(&builder);
}
inline tare_variant* rect_by_c_add_value() {
  tare_variant_builder builder;
  tare_variant_builder_init(&builder, "(iiii)");
  for (const std::int32_t number : {rect.x, rect.y, rect.width, rect.height}) {
    tare_variant_builder_add_value(&builder, tare_variant_new_int32(number));
  }
  return tare_variant_builder_end(&builder);
}
inline tare_variant* rect_by_c_new() { return tare_variant_new("(iiii)", rect.x, rect.y, rect.width, rect.height); }
inline tare_variant* key_by_c_new() {
  return tare_variant_new("(uuu)", key_event.symbol, key_event.code, key_event.state);
}
inline tare_variant* engine_by_c_new() {
  const Engine& e = engine;
  return tare_variant_new("(ssssssssussss)", e.name, e.long_name, e.description, e.language, e.license, e.author,
                          e.icon, e.layout, e.rank, e.hotkeys, e.symbol, e.setup, e.version);
}
inline tare_variant* dictionary_by_c_add() {
  tare_variant_builder builder;
  tare_variant_builder_init(&builder, "a{sv}");
  const auto add = [&builder](std::size_t key, tare_variant* value) {
    tare_variant_builder_add(&builder, "{sv}", texts.keys[key].data(), value);
  };
  add(0, tare_variant_new_string(texts.name.data()));
  add(1, tare_variant_new_uint32(size_setting));
  add(2, tare_variant_new_boolean(true));
  add(3, tare_variant_new_double(ratio_setting));
  add(4, tare_variant_new_int64(-7));
  add(5, tare_variant_new_string(texts.title.data()));
  add(6, tare_variant_new_int32(8));
  add(7, tare_variant_new_byte(3));
  return tare_variant_builder_end(&builder);
}
inline tare_variant* words_by_c_strv() {
  return tare_variant_new_strv(words.data(), static_cast<std::ptrdiff_t>(words.size()));
}
inline tare_variant* nested_by_c_add() {
  tare_variant_builder groups;
  tare_variant_builder_init(&groups, "a(sa{sv})");
  for (std::size_t group = 0; group < std::size(texts.groups); ++group) {
    const auto add = [&groups](std::size_t key, tare_variant* value) {
      tare_variant_builder_add(&groups, "{sv}", texts.group_keys[key].data(), value);
    };
    tare_variant_builder_open(&groups, "(sa{sv})");
    tare_variant_builder_add(&groups, "s", texts.groups[group].data());
    tare_variant_builder_open(&groups, "a{sv}");
    add(0, tare_variant_new_boolean(true));
    add(1, tare_variant_new_string(texts.groups[group].data()));
    add(2, tare_variant_new_uint32(static_cast<std::uint32_t>(group)));
    add(3, tare_variant_new_double(0.5));
    add(4, tare_variant_new_int64(1000));
    tare_variant_builder_close(&groups);
    tare_variant_builder_close(&groups);
  }
  return tare_variant_builder_end(&groups);
}

}  // namespace tare::bench
