// Recognizes the GVariantBuilders of this library, begins them at their first value, and releases what they own.
#include "gvariant/builders.h"

#include <cstring>

#include "gvariant/kept_types.h"
#include "gvariant/real.h"

namespace tare::gvariant {

OurBuilder* ours_of(GVariantBuilder* builder) noexcept {
  if (builder == nullptr) return nullptr;
  if (is_ours(*builder)) return reinterpret_cast<OurBuilder*>(builder);
  constexpr gsize kPartial = 2942751021U;  // set by G_VARIANT_BUILDER_INIT, part of GLib's ABI
  if (builder->u.s.partial_magic != kPartial) return nullptr;
  for (const gsize word : builder->u.s.y) {
    if (word != 0) return nullptr;
  }
  g_variant_builder_init(builder, builder->u.s.type);
  return is_ours(*builder) ? reinterpret_cast<OurBuilder*>(builder) : nullptr;
}

Assembly& begin(OurBuilder& ours) noexcept {
  ours.assembly = variant::c::take_assembly();
  // the text in a builder may move with it
  const auto text = ours.type == nullptr ? variant::c::Text::Copied : variant::c::Text::Kept;
  if (ours.assembly == nullptr || !ours.assembly->begin(ours.type_text(), text)) {
    g_error("libtare-gvariant: no memory for a builder");
  }
  if (!ours.numbers.move_to(*ours.assembly, ours.type_text().data(), ours.number_bytes())) {
    g_error("libtare-gvariant: no memory for a value");
  }
  return *ours.assembly;
}

void forget(OurBuilder& ours) noexcept {
  variant::c::give_assembly(ours.assembly);
  if (ours.sub != nullptr) g_variant_builder_unref(ours.sub);
  if (ours.is_type_ours) g_free(const_cast<char*>(ours.type));
  std::memset(&ours, 0, sizeof ours);
}

void hand_over_empty(OurBuilder& ours) noexcept {
  char text[sizeof ours.text + 1];
  const std::string_view type = ours.type_text();
  char* copy = type.size() < sizeof text ? text : static_cast<char*>(g_malloc(type.size() + 1));
  std::memcpy(copy, type.data(), type.size());
  copy[type.size()] = 0;
  keep_type(type);
  forget(ours);
  real().init(reinterpret_cast<GVariantBuilder*>(&ours), as_type(copy));
  if (copy != text) g_free(copy);
}

void hand_over(GVariantBuilder* builder) noexcept {
  OurBuilder* ours = ours_of(builder);
  if (ours == nullptr) return;
  if (is_empty(*ours)) return hand_over_empty(*ours);
  GVariant* value = g_variant_builder_end(builder);
  if (value == nullptr) return;
  real().init(builder, g_variant_get_type(value));
  const gsize count = g_variant_n_children(value);
  for (gsize i = 0; i < count; ++i) {
    GVariant* child = g_variant_get_child_value(value, i);
    real().add_value(builder, child);
    g_variant_unref(child);
  }
  g_variant_unref(value);
}

GVariant* make_value(std::string_view type, std::string_view bytes, bool is_trusted) noexcept {
  keep_type(type);
  GBytes* copy = g_bytes_new(bytes.data(), bytes.size());
  GVariant* value = g_variant_new_from_bytes(as_type(type.data()), copy, is_trusted ? TRUE : FALSE);
  g_bytes_unref(copy);
  return value;
}

bool add_bytes_of(Builder& to, GVariant* value, bool& is_trusted) noexcept {
  is_trusted = g_variant_is_normal_form(value) && is_trusted;
  const gsize size = g_variant_get_size(value);
  char* place = nullptr;
  if (!to.add_room(size, place)) return false;
  if (size != 0) g_variant_store(value, place);
  return true;
}

}  // namespace tare::gvariant
