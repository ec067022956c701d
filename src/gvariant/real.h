// GLib's own functions behind the ones that this library serves.
#pragma once

#include <dlfcn.h>
#include <glib.h>

namespace tare::gvariant {

// The function `name` as it would be without this library; null in a GLib without it.
template <typename Function>
Function find_real(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Found when the library is loaded, which is before any call of GLib: no lock, no check at each call.
struct Real {
  using Init = void (*)(GVariantBuilder*, const GVariantType*);
  using Act = void (*)(GVariantBuilder*);
  using MakeByFormat = GVariant* (*)(const gchar*, const gchar**, va_list*);

  Real() noexcept;

  Init init, init_static, open;
  Act clear, close, unref;
  void (*add_value)(GVariantBuilder*, GVariant*);
  GVariant* (*end)(GVariantBuilder*);
  GVariantBuilder* (*ref)(GVariantBuilder*);
  MakeByFormat new_va;
  GVariant* (*new_parsed_va)(const gchar*, va_list*);
  GVariant* (*new_strv)(const gchar* const*, gssize);
  GVariant* (*new_fixed_array)(const GVariantType*, gconstpointer, gsize, gsize);
  void (*assert_no_infos)();
};
const Real& real() noexcept;

}  // namespace tare::gvariant
