// Finds GLib's own functions.
#include "gvariant/real.h"

namespace tare::gvariant {

Real::Real() noexcept
    : init(find_real<Init>("g_variant_builder_init")),
      init_static(find_real<Init>("g_variant_builder_init_static")),
      open(find_real<Init>("g_variant_builder_open")),
      clear(find_real<Act>("g_variant_builder_clear")),
      close(find_real<Act>("g_variant_builder_close")),
      unref(find_real<Act>("g_variant_builder_unref")),
      add_value(find_real<decltype(add_value)>("g_variant_builder_add_value")),
      end(find_real<decltype(end)>("g_variant_builder_end")),
      ref(find_real<decltype(ref)>("g_variant_builder_ref")),
      new_va(find_real<MakeByFormat>("g_variant_new_va")),
      new_parsed_va(find_real<decltype(new_parsed_va)>("g_variant_new_parsed_va")),
      new_strv(find_real<decltype(new_strv)>("g_variant_new_strv")),
      new_fixed_array(find_real<decltype(new_fixed_array)>("g_variant_new_fixed_array")),
      assert_no_infos(find_real<void (*)()>("g_variant_type_info_assert_no_infos")) {
  if (init_static == nullptr) init_static = init;  // before GLib 2.84
}

const Real& real() noexcept {
  static const Real found;
  return found;
}

}  // namespace tare::gvariant
