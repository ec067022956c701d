// Ours: each message by the typed writer, in any format, and by the builder for types of run time.
#pragma once

#include "messages.h"
#include "tare/variant/builder.h"
#include "tare/variant/dbus_message.h"
#include "tare/variant/writer.h"

template <>
inline constexpr auto tare::variant::fields<tare::bench::Rect> =
    std::tuple(&tare::bench::Rect::x, &tare::bench::Rect::y, &tare::bench::Rect::width, &tare::bench::Rect::height);
template <>
inline constexpr auto tare::variant::fields<tare::bench::KeyEvent> =
    std::tuple(&tare::bench::KeyEvent::symbol, &tare::bench::KeyEvent::code, &tare::bench::KeyEvent::state);

namespace tare::bench {

using variant::as;
using variant::Builder;
using variant::elements;
using variant::Type;

// ---- typed: what is handed to a writer of the message's type

inline auto dictionary_values(std::uint32_t size, double ratio) {
  return elements(std::pair(texts.keys[0], texts.name), std::pair(texts.keys[1], size), std::pair(texts.keys[2], true),
                  std::pair(texts.keys[3], ratio), std::pair(texts.keys[4], std::int64_t{-7}),
                  std::pair(texts.keys[5], texts.title), std::pair(texts.keys[6], std::int32_t{8}),
                  std::pair(texts.keys[7], std::uint8_t{3}));
}
inline auto engine_values(const Engine& e) {
  return std::tuple(e.name, e.long_name, e.description, e.language, e.license, e.author, e.icon, e.layout, e.rank,
                    e.hotkeys, e.symbol, e.setup, e.version);
}
inline auto attribute_values(std::uint32_t type, std::uint32_t end) {
  return as<"(sa{sv}uuuu)">(std::tuple(texts.attribute, elements(), type, 1U, 0U, end));
}
inline auto preedit_values(std::string_view text) {
  return std::tuple(
      texts.text, elements(), text,
      as<"(sa{sv}av)">(std::tuple(texts.list, elements(), elements(attribute_values(1, 12), attribute_values(2, 6)))));
}
inline auto group_values(std::size_t group) {
  return std::pair(texts.groups[group],
                   elements(std::pair(texts.group_keys[0], true), std::pair(texts.group_keys[1], texts.groups[group]),
                            std::pair(texts.group_keys[2], static_cast<std::uint32_t>(group)),
                            std::pair(texts.group_keys[3], 0.5), std::pair(texts.group_keys[4], std::int64_t{1000})));
}
inline auto nested_values() { return std::array{group_values(0), group_values(1), group_values(2)}; }
inline auto nested_from_function() {
  return [](auto& groups) {
    for (std::size_t group = 0; group < std::size(texts.groups); ++group) groups.add(group_values(group));
  };
}

// ---- piece by piece, with types that are known at run time only

template <typename Add>
void add_entry(Builder& builder, std::string_view key, Type type, Add add) {
  builder.open_entry();
  builder.add_text(key);
  builder.open_variant(type);
  add();
  builder.close();
  builder.close();
}
inline void build_rect(Builder& b, const Rect& r) {
  b.open_tuple();
  b.add_int32(r.x);
  b.add_int32(r.y);
  b.add_int32(r.width);
  b.add_int32(r.height);
  b.close();
}
inline void build_key(Builder& b, const KeyEvent& key) {
  b.open_tuple();
  b.add_uint32(key.symbol);
  b.add_uint32(key.code);
  b.add_uint32(key.state);
  b.close();
}
inline void build_dictionary(Builder& b, std::uint32_t size, double ratio) {
  b.open_array();
  add_entry(b, texts.keys[0], "s", [&b] { b.add_text(texts.name); });
  add_entry(b, texts.keys[1], "u", [&] { b.add_uint32(size); });
  add_entry(b, texts.keys[2], "b", [&b] { b.add_bool(true); });
  add_entry(b, texts.keys[3], "d", [&] { b.add_double(ratio); });
  add_entry(b, texts.keys[4], "x", [&b] { b.add_int64(-7); });
  add_entry(b, texts.keys[5], "s", [&b] { b.add_text(texts.title); });
  add_entry(b, texts.keys[6], "i", [&b] { b.add_int32(8); });
  add_entry(b, texts.keys[7], "y", [&b] { b.add_byte(3); });
  b.close();
}
inline void build_words(Builder& b) {
  b.open_array();
  for (const char* word : words) b.add_text(word);
  b.close();
}
inline void build_engine(Builder& b, const Engine& e) {
  b.open_tuple();
  for (const char* text : {e.name, e.long_name, e.description, e.language, e.license, e.author, e.icon, e.layout}) {
    b.add_text(text);
  }
  b.add_uint32(e.rank);
  for (const char* text : {e.hotkeys, e.symbol, e.setup, e.version}) b.add_text(text);
  b.close();
}
inline void build_attribute(Builder& b, std::uint32_t type, std::uint32_t end) {
  b.open_variant("(sa{sv}uuuu)");
  b.open_tuple();
  b.add_text(texts.attribute);
  b.open_array();
  b.close();
  b.add_uint32(type);
  b.add_uint32(1);
  b.add_uint32(0);
  b.add_uint32(end);
  b.close();
  b.close();
}
inline void build_preedit(Builder& b, std::string_view text) {
  b.open_tuple();
  b.add_text(texts.text);
  b.open_array();
  b.close();
  b.add_text(text);
  b.open_variant("(sa{sv}av)");
  b.open_tuple();
  b.add_text(texts.list);
  b.open_array();
  b.close();
  b.open_array();
  build_attribute(b, 1, 12);
  build_attribute(b, 2, 6);
  b.close();
  b.close();
  b.close();
  b.close();
}
inline void build_nested(Builder& b) {
  b.open_array();
  for (std::size_t group = 0; group < std::size(texts.groups); ++group) {
    b.open_tuple();
    b.add_text(texts.groups[group]);
    b.open_array();
    add_entry(b, texts.group_keys[0], "b", [&b] { b.add_bool(true); });
    add_entry(b, texts.group_keys[1], "s", [&] { b.add_text(texts.groups[group]); });
    add_entry(b, texts.group_keys[2], "u", [&] { b.add_uint32(static_cast<std::uint32_t>(group)); });
    add_entry(b, texts.group_keys[3], "d", [&b] { b.add_double(0.5); });
    add_entry(b, texts.group_keys[4], "x", [&b] { b.add_int64(1000); });
    b.close();
    b.close();
  }
  b.close();
}
inline void build_blobs(Builder& b) {
  b.open_array();
  for (const auto& blob : ten_blobs()) b.add_fixed_array(blob.data(), blob.size());
  b.close();
}
inline void build_numbers(Builder& b) {
  b.open_array();
  for (const std::int32_t number : thousand_numbers()) b.add_int32(number);
  b.close();
}
inline void build_numbers_at_once(Builder& b) {
  b.add_fixed_array(thousand_numbers().data(), thousand_numbers().size());
}

}  // namespace tare::bench
