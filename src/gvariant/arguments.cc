// Takes values and builders from a call's arguments.
#include "gvariant/arguments.h"

#include <cstring>

#include "gvariant/real.h"

namespace tare::gvariant {

using variant::Type;
using variant::WriteError;
using variant::Written;
using variant::c::Arguments;

bool GlibHost::add(Builder& to, void* value, std::string_view type) noexcept {
  auto* added = static_cast<GVariant*>(value);
  if (added == nullptr || g_variant_get_type_string(added) != type) return to.fail(WriteError::WrongType);
  take(added, nullptr);
  return add_bytes_of(to, added, is_trusted_);
}

bool GlibHost::add_in_variant(Builder& to, void* value) noexcept {
  auto* added = static_cast<GVariant*>(value);
  if (added == nullptr) return to.fail(WriteError::WrongType);
  take(added, nullptr);
  return to.open_variant(Type::trusted(g_variant_get_type_string(added))) && add_bytes_of(to, added, is_trusted_) &&
         to.close();
}

bool GlibHost::add_built(Builder& to, void* argument, std::string_view type) noexcept {
  auto* builder = static_cast<GVariantBuilder*>(argument);
  if (builder == nullptr) return type[0] == 'a' && to.open() && to.close();
  OurBuilder* ours = ours_of(builder);
  if (ours == nullptr || ours->sub != nullptr) {
    GVariant* value = g_variant_builder_end(builder);
    if (value == nullptr) return to.fail(WriteError::Incomplete);
    take(value, builder);
    return g_variant_get_type_string(value) == type ? add_bytes_of(to, value, is_trusted_)
                                                    : to.fail(WriteError::WrongType);
  }
  if (ours->type_text() != type) return to.fail(WriteError::WrongType);
  const Written written = begun(*ours).end();
  if (!written) return to.fail(written.error());
  is_trusted_ = is_trusted_ && ours->is_trusted;
  take(nullptr, builder);
  char* place = nullptr;
  if (!to.add_room(written.size(), place)) return false;
  if (written.size() != 0) std::memcpy(place, written.data(), written.size());
  return true;
}

void GlibHost::commit() noexcept {
  // a value may be among the arguments twice: floating only the first time
  for_each([](Taken& taken) {
    if (taken.builder != nullptr) return;
    if (g_variant_is_floating(taken.value)) {
      g_variant_take_ref(taken.value);
    } else {
      taken.value = nullptr;
    }
  });
  for_each([](Taken& taken) {
    if (taken.value != nullptr) {
      g_variant_unref(taken.value);
    } else if (taken.builder != nullptr) {
      forget(reinterpret_cast<OurBuilder&>(*taken.builder));
    }
  });
}

void GlibHost::roll_back() noexcept {
  for_each([](Taken& taken) {
    if (taken.builder == nullptr) return;
    GVariant* value = taken.value;
    if (value == nullptr) {
      auto& ours = reinterpret_cast<OurBuilder&>(*taken.builder);
      value = make_value(ours.assembly->type(), ours.assembly->output().bytes(), ours.is_trusted);
      forget(ours);
    }
    real().init(taken.builder, g_variant_get_type(value));
    const gsize count = g_variant_n_children(value);
    for (gsize i = 0; i < count; ++i) {
      GVariant* child = g_variant_get_child_value(value, i);
      real().add_value(taken.builder, child);
      g_variant_unref(child);
    }
    g_variant_unref(value);
  });
}

void hand_over_builders(const char* format, va_list* arguments) noexcept {
  GlibHost host;
  Arguments copy;
  va_copy(copy.list, *arguments);
  const char* end = variant::c::end_of_format(format);
  if (end != nullptr) skip_arguments(host, format, copy, nullptr);
  va_end(copy.list);
}

void hand_over_parsed_builders(const char* text, va_list* arguments) noexcept {
  GlibHost host;
  Arguments copy;
  va_copy(copy.list, *arguments);
  while (const char* format = variant::c::next_format_in(text)) {
    if (variant::c::end_of_format(format) == nullptr) break;
    skip_arguments(host, format, copy, nullptr);
    text = format;
  }
  va_end(copy.list);
}

}  // namespace tare::gvariant
