// The contents of a GVariantBuilder that this library has initialized, and the signs that distinguish it from others.
//
// A builder is ours if its type is definite and it wasn't handed to GLib. It is handed to GLib if its first piece is an
// existing value: keeping a reference to the value costs less than copying it and making it anew for its readers, such
// as GDBus's parser.
#pragma once

#include <glib.h>

#include <cstddef>
#include <string_view>

#include "gvariant/tuple_of_numbers.h"
#include "lib/variant/c/assembly_pool.h"

namespace tare::gvariant {

using variant::Builder;
using variant::c::Assembly;

struct OurBuilder {
  static constexpr gsize kMark = 0x7461'7265'4756'0001;  // in place of GLib's pointer: no address
  static constexpr gsize kEndMark = 0x7461'7265'4756'0002;

  gsize mark;
  Assembly* assembly;    // null before the first piece
  const char* type;      // GLib's caller's, our copy, or null: in `text`
  GVariantBuilder* sub;  // GLib's builder, for an open container without a definite type
  guint32 type_size;
  guint16 sub_depth;  // containers open in it
  bool is_trusted;    // all pieces are in normal form
  bool is_type_ours;
  TupleOfNumbers numbers;  // while there's no assembly
  char text[77];           // a tuple of numbers has its bytes behind its type
  gsize end_mark;

  std::string_view type_text() const noexcept { return {type == nullptr ? text : type, type_size}; }
  char* number_bytes() noexcept { return text + TupleOfNumbers::kLongestType; }
};
static_assert(sizeof(OurBuilder) == sizeof(GVariantBuilder));
static_assert(sizeof(OurBuilder::text) >= TupleOfNumbers::kLongestType + TupleOfNumbers::kRoom);

// True if nothing was added yet.
inline bool is_empty(const OurBuilder& ours) noexcept { return ours.assembly == nullptr && ours.numbers.count == 0; }

inline bool is_ours(const GVariantBuilder& builder) noexcept {
  const auto& ours = reinterpret_cast<const OurBuilder&>(builder);
  return ours.mark == OurBuilder::kMark && ours.end_mark == OurBuilder::kEndMark;
}

inline std::string_view text_of(const GVariantType* type) noexcept {
  const auto* text = reinterpret_cast<const char*>(type);
  return {text, static_cast<std::size_t>(variant::type_details::skip(text) - text)};
}
inline const GVariantType* as_type(const char* text) noexcept { return reinterpret_cast<const GVariantType*>(text); }

// This library's builder, initialized if only G_VARIANT_BUILDER_INIT was applied; null for GLib's.
OurBuilder* ours_of(GVariantBuilder* builder) noexcept;

// Begins the Assembly of one that has none; ends the program, as GLib does, where there's no memory.
Assembly& begin(OurBuilder& ours) noexcept;
inline Assembly& begun(OurBuilder& ours) noexcept { return ours.assembly != nullptr ? *ours.assembly : begin(ours); }

// Makes it GLib's, without its pieces: GLib's again, with them.
void hand_over_empty(OurBuilder& ours) noexcept;
void hand_over(GVariantBuilder* builder) noexcept;

// All zeros, as GLib leaves it.
void forget(OurBuilder& ours) noexcept;

// A floating value of bytes that were written here.
GVariant* make_value(std::string_view type, std::string_view bytes, bool is_trusted) noexcept;

// Adds `value` unchanged; sets `is_trusted` if it is in normal form.
bool add_bytes_of(Builder& to, GVariant* value, bool& is_trusted) noexcept;

// Ends a floating value that was taken into another one.
inline void consume(GVariant* value) noexcept {
  if (g_variant_is_floating(value)) g_variant_unref(g_variant_take_ref(value));
}

}  // namespace tare::gvariant
