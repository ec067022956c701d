// Values of GLib beside ours: random types and values from a source of bytes, and whether both read and write the same.
#pragma once

#include <glib.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tare/variant/builder.h"
#include "tare/variant/view.h"

namespace tare::testing {

struct UnrefVariant {
  void operator()(GVariant* value) const { g_variant_unref(value); }
};
using GlibValue = std::unique_ptr<GVariant, UnrefVariant>;
inline GlibValue take(GVariant* value) { return GlibValue(g_variant_take_ref(value)); }

// Bytes that decide; zeros at the end.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> input) : input_(input) {}
  bool any_left() const { return !input_.empty(); }
  std::uint8_t next() {
    if (input_.empty()) return 0;
    const std::uint8_t byte = input_.front();
    input_ = input_.subspan(1);
    return byte;
  }
  std::uint64_t word() {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | next();
    return word;
  }
  std::span<const std::uint8_t> rest() const { return input_; }

 private:
  std::span<const std::uint8_t> input_;
};

enum class For { GVariant, DBus };

inline std::string choose_type(Choices& choices, For encoding, int levels = 4) {
  constexpr std::string_view kBasic = "ybnqiuxthdsog";
  const auto basic = [&] { return std::string(1, kBasic[choices.next() % kBasic.size()]); };
  if (levels == 0) return basic();
  switch (choices.next() % 8) {
    case 0:
      return "v";
    case 1:
      return "a" + choose_type(choices, encoding, levels - 1);
    case 2:
      if (encoding == For::DBus) return basic();
      return "m" + choose_type(choices, encoding, levels - 1);
    case 3:
      return "a{" + basic() + choose_type(choices, encoding, levels - 1) + "}";
    case 4:
    case 5: {
      std::string members;
      const int count = choices.next() % 5 + (encoding == For::DBus ? 1 : 0);
      for (int i = 0; i < count; ++i) members += choose_type(choices, encoding, levels - 1);
      return "(" + members + ")";
    }
    default:
      return basic();
  }
}

inline std::string choose_text(Choices& choices) {
  constexpr std::string_view kPieces[] = {"",  "a", "key", "Grüße", "eight by", "value of some length", "\xE2\x82\xAC",
                                          "😀"};
  std::string text;
  const int count = choices.next() % 4;
  for (int i = 0; i < count; ++i) text += kPieces[choices.next() % std::size(kPieces)];
  if (choices.next() % 64 == 0) text.append(300, 'x');  // offsets of 2 bytes
  return text;
}

inline GVariant* choose_value(Choices& choices, const std::string& type, For encoding, int levels = 4) {
  switch (type[0]) {
    case 'y':
      return g_variant_new_byte(choices.next());
    case 'b':
      return g_variant_new_boolean(choices.next() % 2);
    case 'n':
      return g_variant_new_int16(static_cast<gint16>(choices.word()));
    case 'q':
      return g_variant_new_uint16(static_cast<guint16>(choices.word()));
    case 'i':
      return g_variant_new_int32(static_cast<gint32>(choices.word()));
    case 'u':
      return g_variant_new_uint32(static_cast<guint32>(choices.word()));
    case 'h':
      return g_variant_new_handle(static_cast<gint32>(choices.word()));
    case 'x':
      return g_variant_new_int64(static_cast<gint64>(choices.word()));
    case 't':
      return g_variant_new_uint64(choices.word());
    case 'd':
      return g_variant_new_double(static_cast<double>(choices.word()) / 3);
    case 's':
      return g_variant_new_string(choose_text(choices).c_str());
    case 'o':
      return g_variant_new_object_path(choices.next() % 2 != 0 ? "/" : "/org/tare/Object_1");
    case 'g':
      return g_variant_new_signature(choices.next() % 2 != 0 ? "" : "a{sv}(ii)");
    case 'v': {
      const std::string inner = choose_type(choices, encoding, levels > 2 ? 2 : levels > 0 ? levels - 1 : 0);
      return g_variant_new_variant(choose_value(choices, inner, encoding, levels > 0 ? levels - 1 : 0));
    }
    case 'm': {
      const std::string inner = type.substr(1);
      GVariant* child = choices.next() % 3 == 0 ? nullptr : choose_value(choices, inner, encoding, levels);
      return g_variant_new_maybe(G_VARIANT_TYPE(inner.c_str()), child);
    }
    default: {
      GVariantBuilder builder;
      g_variant_builder_init(&builder, G_VARIANT_TYPE(type.c_str()));
      if (type[0] == 'a') {
        int count = choices.next() % 6;
        if (count == 5 && levels > 2) count = choices.next();
        for (int i = 0; i < count; ++i) {
          g_variant_builder_add_value(&builder, choose_value(choices, type.substr(1), encoding, levels - 1));
        }
      } else {
        for (const GVariantType* member = g_variant_type_first(G_VARIANT_TYPE(type.c_str())); member != nullptr;
             member = g_variant_type_next(member)) {
          const std::string text(g_variant_type_peek_string(member), g_variant_type_get_string_length(member));
          g_variant_builder_add_value(&builder, choose_value(choices, text, encoding, levels - 1));
        }
      }
      return g_variant_builder_end(&builder);
    }
  }
}

inline std::string_view type_of(GVariant* value) { return g_variant_get_type_string(value); }

inline std::string_view bytes_of(GVariant* value) {
  const auto* data = static_cast<const char*>(g_variant_get_data(value));
  return {data == nullptr ? "" : data, data == nullptr ? 0 : g_variant_get_size(value)};
}

// Writes what GLib has with a Builder of ours, call by call.
template <typename AnyBuilder>
bool write_with(AnyBuilder& builder, GVariant* value) {
  switch (type_of(value)[0]) {
    case 'y':
      return builder.add_byte(g_variant_get_byte(value));
    case 'b':
      return builder.add_bool(g_variant_get_boolean(value) != 0);
    case 'n':
      return builder.add_int16(g_variant_get_int16(value));
    case 'q':
      return builder.add_uint16(g_variant_get_uint16(value));
    case 'i':
      return builder.add_int32(g_variant_get_int32(value));
    case 'u':
      return builder.add_uint32(g_variant_get_uint32(value));
    case 'h':
      return builder.add_handle({static_cast<std::uint32_t>(g_variant_get_handle(value))});
    case 'x':
      return builder.add_int64(g_variant_get_int64(value));
    case 't':
      return builder.add_uint64(g_variant_get_uint64(value));
    case 'd':
      return builder.add_double(g_variant_get_double(value));
    case 's':
    case 'o':
    case 'g': {
      gsize size = 0;
      const char* text = g_variant_get_string(value, &size);
      return builder.add_text({text, size});
    }
    default:
      break;
  }
  const std::size_t count = g_variant_n_children(value);
  if (type_of(value)[0] == 'm' && count == 0) return builder.add_nothing();
  GlibValue inner;
  if (type_of(value)[0] == 'v') {
    inner.reset(g_variant_get_variant(value));
    // the type's text must live until end()
    if (!builder.open_variant(variant::Type::trusted(g_variant_get_type_string(inner.get())))) return false;
  } else if (!builder.open()) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!write_with(builder, GlibValue(g_variant_get_child_value(value, i)).get())) return false;
  }
  return builder.close();
}

// Why GLib's value and ours differ; empty if they don't. `steps` bounds how many children are looked at.
inline std::string difference(GVariant* theirs, const variant::View& ours, std::size_t& steps) {
  if (steps == 0) return {};
  --steps;
  if (type_of(theirs) != ours.type().text()) {
    return "type " + std::string(type_of(theirs)) + " is " + std::string(ours.type().text());
  }
  const auto differs = [&](auto expected, auto got) {
    return expected == got ? std::string() : std::string(type_of(theirs)) + ": other value";
  };
  switch (ours.code()) {
    case 'y':
      return differs(g_variant_get_byte(theirs), ours.as_byte());
    case 'b':
      return differs(g_variant_get_boolean(theirs) != 0, ours.as_bool());
    case 'n':
      return differs(g_variant_get_int16(theirs), ours.as_int16());
    case 'q':
      return differs(g_variant_get_uint16(theirs), ours.as_uint16());
    case 'i':
      return differs(g_variant_get_int32(theirs), ours.as_int32());
    case 'u':
      return differs(g_variant_get_uint32(theirs), ours.as_uint32());
    case 'h':
      return differs(static_cast<std::uint32_t>(g_variant_get_handle(theirs)), ours.as_handle().index);
    case 'x':
      return differs(g_variant_get_int64(theirs), ours.as_int64());
    case 't':
      return differs(g_variant_get_uint64(theirs), ours.as_uint64());
    case 'd':
      return differs(std::bit_cast<std::uint64_t>(g_variant_get_double(theirs)),
                     std::bit_cast<std::uint64_t>(ours.as_double()));
    case 's':
    case 'o':
    case 'g': {
      gsize size = 0;
      const char* text = g_variant_get_string(theirs, &size);
      return std::string_view(text, size) == ours.text()
                 ? ""
                 : "text \"" + std::string(text) + "\" is \"" + std::string(ours.text()) + '"';
    }
    default:
      break;
  }
  const std::size_t count = g_variant_n_children(theirs);
  if (count != ours.child_count()) {
    return std::string(type_of(theirs)) + ": " + std::to_string(count) + " children, here " +
           std::to_string(ours.child_count());
  }
  std::size_t index = 0;
  for (const variant::View& child : ours) {
    const GlibValue their_child(g_variant_get_child_value(theirs, index));
    std::string found = difference(their_child.get(), child, steps);
    if (!found.empty()) return std::to_string(index) + "/" + found;
    if (index % 7 == 3) {
      found = difference(their_child.get(), ours.child(index), steps);
      if (!found.empty()) return "child(" + std::to_string(index) + ")/" + found;
    }
    ++index;
    if (steps == 0) return {};
  }
  return index == count ? "" : "iteration ended early";
}

// Whether a tuple's first member doesn't fit while others follow: the one case that we read otherwise, see view.h.
inline bool has_broken_first_member(const variant::View& value, std::size_t& steps) {
  if (steps == 0) return true;  // not looked at: not compared either
  --steps;
  if (value.type().is_basic()) return false;
  if (value.code() == '(' || value.code() == '{') {
    const auto first = value.code() == '(' ? value.type().first() : value.type().key();
    if (first.has_value() && value.bytes().size() == 0 && value.type().layout().fixed_size == 0) return false;
    if (first.has_value() && value.type().layout().fixed_size == 0) {
      const std::size_t fixed_size = first->layout().fixed_size;
      const std::size_t size = value.bytes().size();
      if (fixed_size > size) return true;
      if (fixed_size == 0 && value.type().member_count() > 1) {
        const std::size_t width = variant::format_details::offset_width(size);
        const std::size_t end = variant::format_details::load_offset(value.bytes().data() + size - width, width);
        if (end > size) return true;
      }
    }
  }
  for (const variant::View& child : value) {
    if (has_broken_first_member(child, steps)) return true;
  }
  return false;
}

}  // namespace tare::testing
