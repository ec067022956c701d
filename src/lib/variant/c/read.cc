// Reads values of tare/variant/c.h: numbers, texts, children.
#include "lib/variant/c/value.h"

using tare::variant::View;
using tare::variant::c::part_of;
using tare::variant::c::type_of;
using tare::variant::c::view_of;

extern "C" {

bool tare_variant_get_boolean(const tare_variant* value) { return view_of(*value).as_bool(); }
uint8_t tare_variant_get_byte(const tare_variant* value) { return view_of(*value).as_byte(); }
int16_t tare_variant_get_int16(const tare_variant* value) { return view_of(*value).as_int16(); }
uint16_t tare_variant_get_uint16(const tare_variant* value) { return view_of(*value).as_uint16(); }
int32_t tare_variant_get_int32(const tare_variant* value) { return view_of(*value).as_int32(); }
uint32_t tare_variant_get_uint32(const tare_variant* value) { return view_of(*value).as_uint32(); }
int64_t tare_variant_get_int64(const tare_variant* value) { return view_of(*value).as_int64(); }
uint64_t tare_variant_get_uint64(const tare_variant* value) { return view_of(*value).as_uint64(); }
double tare_variant_get_double(const tare_variant* value) { return view_of(*value).as_double(); }
int32_t tare_variant_get_handle(const tare_variant* value) {
  return static_cast<std::int32_t>(view_of(*value).as_handle().index);
}

const char* tare_variant_get_string(const tare_variant* value, size_t* length) {
  const std::string_view text = view_of(*value).text();
  if (length != nullptr) *length = text.size();
  return text.data() == nullptr ? "" : text.data();
}

const void* tare_variant_get_fixed_array(const tare_variant* value, size_t* count, size_t element_bytes) {
  const bool is_one = value->type[0] == 'a' && element_bytes != 0 &&
                      view_of(*value).type().element().layout().fixed_size == element_bytes;
  *count = is_one ? view_of(*value).child_count() : 0;
  return *count == 0 ? nullptr : value->data;
}

size_t tare_variant_n_children(const tare_variant* value) { return view_of(*value).child_count(); }

tare_variant* tare_variant_get_child_value(tare_variant* value, size_t index) {
  const View view = view_of(*value);
  return index < view.child_count() ? part_of(*value, view.child(index)) : nullptr;
}

tare_variant* tare_variant_get_variant(tare_variant* value) {
  return value->type[0] == 'v' ? part_of(*value, view_of(*value).inside()) : nullptr;
}

tare_variant* tare_variant_get_maybe(tare_variant* value) {
  return value->type[0] == 'm' ? tare_variant_get_child_value(value, 0) : nullptr;
}

tare_variant* tare_variant_lookup_value(tare_variant* dictionary, const char* key, const char* type) {
  const auto found = view_of(*dictionary).lookup(key);
  if (!found.has_value()) return nullptr;
  if (type != nullptr && !(tare::variant::is_type_pattern(type) && tare::variant::matches(found->type().text(), type)))
    return nullptr;
  return part_of(*dictionary, *found);
}

}  // extern "C"
