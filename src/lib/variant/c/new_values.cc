// Makes values of tare/variant/c.h out of numbers, texts and other values.
#include <cstring>

#include "lib/variant/c/assembly_pool.h"
#include "lib/variant/c/building.h"
#include "lib/variant/c/value.h"
#include "tare/variant/text_rules.h"

using tare::variant::Builder;
using tare::variant::Type;
using tare::variant::c::Assembly;
using tare::variant::c::Borrowed;
using tare::variant::c::consume;
using tare::variant::c::make_value;
using tare::variant::c::Text;
using tare::variant::c::Trust;
using tare::variant::c::type_of;

namespace {

template <typename Number>
tare_variant* new_number(char code, Number number) {
  return make_value({&code, 1}, {reinterpret_cast<const char*>(&number), sizeof number}, Trust::NormalForm);
}

tare_variant* new_text(char code, const char* text, bool (*is_valid)(std::string_view)) {
  if (text == nullptr) return nullptr;
  const std::string_view characters(text);
  if (!is_valid(characters)) return nullptr;
  return make_value({&code, 1}, {text, characters.size() + 1}, Trust::NormalForm);
}

bool is_text(std::string_view text) { return tare::variant::is_text(text); }
bool is_path(std::string_view text) { return tare::variant::is_object_path(text); }
bool is_signature(std::string_view text) { return tare::variant::is_signature(text); }

// A container of `type` with these children, which are consumed.
tare_variant* new_container(std::string_view type, tare_variant* const* children, std::size_t count) {
  Borrowed assembly;
  bool is_complete = assembly.get() != nullptr && assembly->begin(type, Text::Kept);
  for (std::size_t i = 0; i < count; ++i) {
    is_complete = is_complete && tare::variant::c::add_value(*assembly, *children[i]);
    consume(children[i]);
  }
  return is_complete ? tare::variant::c::end(*assembly) : nullptr;
}

}  // namespace

extern "C" {

tare_variant* tare_variant_new_boolean(bool value) { return new_number('b', std::uint8_t{value}); }
tare_variant* tare_variant_new_byte(uint8_t value) { return new_number('y', value); }
tare_variant* tare_variant_new_int16(int16_t value) { return new_number('n', value); }
tare_variant* tare_variant_new_uint16(uint16_t value) { return new_number('q', value); }
tare_variant* tare_variant_new_int32(int32_t value) { return new_number('i', value); }
tare_variant* tare_variant_new_uint32(uint32_t value) { return new_number('u', value); }
tare_variant* tare_variant_new_int64(int64_t value) { return new_number('x', value); }
tare_variant* tare_variant_new_uint64(uint64_t value) { return new_number('t', value); }
tare_variant* tare_variant_new_handle(int32_t value) { return new_number('h', value); }
tare_variant* tare_variant_new_double(double value) { return new_number('d', value); }
tare_variant* tare_variant_new_string(const char* text) { return new_text('s', text, is_text); }
tare_variant* tare_variant_new_object_path(const char* text) { return new_text('o', text, is_path); }
tare_variant* tare_variant_new_signature(const char* text) { return new_text('g', text, is_signature); }

tare_variant* tare_variant_new_bytestring(const char* text) {
  return text == nullptr ? nullptr : make_value("ay", {text, std::strlen(text) + 1}, Trust::NormalForm);
}

tare_variant* tare_variant_new_strv(const char* const* texts, ptrdiff_t count) {
  Borrowed assembly;
  if (assembly.get() == nullptr || !assembly->begin("as", Text::Kept)) return nullptr;
  for (std::ptrdiff_t i = 0; count < 0 ? texts[i] != nullptr : i < count; ++i) {
    const std::string_view text(texts[i]);
    if (!assembly->add_accepted("s", [&](Builder& to) { return to.add_text(text); })) return nullptr;
  }
  return tare::variant::c::end(*assembly);
}

tare_variant* tare_variant_new_fixed_array(const char* element_type, const void* elements, size_t count,
                                           size_t element_bytes) {
  const auto element = Type::parse(element_type);
  if (!element.has_value() || element->layout().fixed_size != element_bytes || element_bytes == 0) return nullptr;
  if (count > PTRDIFF_MAX / element_bytes) return nullptr;
  std::string type("a");
  type += element_type;
  const std::string_view bytes(static_cast<const char*>(elements), count * element_bytes);
  // padding and bools may be anything
  return make_value(type, bytes, std::strpbrk(element_type, "b({") == nullptr ? Trust::NormalForm : Trust::None);
}

tare_variant* tare_variant_new_variant(tare_variant* value) {
  return value == nullptr ? nullptr : new_container("v", &value, 1);
}

tare_variant* tare_variant_new_maybe(const char* child_type, tare_variant* value) {
  if (value == nullptr && (child_type == nullptr || !tare::variant::is_type(child_type))) return nullptr;
  std::string type("m");
  type += value == nullptr ? std::string_view(child_type) : type_of(*value);
  return new_container(type, &value, value == nullptr ? 0 : 1);
}

tare_variant* tare_variant_new_array(const char* child_type, tare_variant* const* children, size_t count) {
  if (count == 0 && (child_type == nullptr || !tare::variant::is_type(child_type))) return nullptr;
  std::string type("a");
  type += child_type != nullptr ? std::string_view(child_type) : type_of(*children[0]);
  return tare::variant::is_type(type) ? new_container(type, children, count) : nullptr;
}

tare_variant* tare_variant_new_tuple(tare_variant* const* children, size_t count) {
  std::string type = "(";
  for (std::size_t i = 0; i < count; ++i) type += type_of(*children[i]);
  type += ')';
  return tare::variant::is_type(type) ? new_container(type, children, count) : nullptr;
}

tare_variant* tare_variant_new_dict_entry(tare_variant* key, tare_variant* value) {
  if (key == nullptr || value == nullptr) return nullptr;
  std::string type("{");
  type.append(type_of(*key)).append(type_of(*value)).append("}");
  tare_variant* const members[] = {key, value};
  return tare::variant::is_type(type) ? new_container(type, members, 2) : nullptr;
}

tare_variant* tare_variant_new_from_data(const char* type, const void* data, size_t bytes) {
  if (!tare::variant::is_type(type)) return nullptr;
  return make_value(type, {static_cast<const char*>(data), bytes}, Trust::None);
}

}  // extern "C"
