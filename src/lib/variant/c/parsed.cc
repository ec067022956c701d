// Values of tare/variant/c.h from text, with places in it for arguments.
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/variant/c/building.h"
#include "tare/variant/text.h"

using tare::variant::Output;
using tare::variant::Type;
using tare::variant::c::Arguments;
using tare::variant::c::end_of_format;
using tare::variant::c::make_value;
using tare::variant::c::next_format_in;
using tare::variant::c::Trust;

namespace {

// Appends the value of the arguments for `format`, as text with its type.
bool append_argument(std::string& to, const char*& format, Arguments& arguments) {
  const char* end = nullptr;
  if (end_of_format(format) == nullptr) return false;
  tare_variant* value = tare_variant_new_va(format, &end, &arguments.list);
  if (value == nullptr) return false;
  format = end;
  char* text = tare_variant_print(value, TARE_VARIANT_OMIT_TYPES);
  if (text != nullptr) to.append("@").append(tare_variant_get_type_string(value)).append(" ").append(text);
  std::free(text);
  tare_variant_unref(value);
  return text != nullptr;
}

// `text` with values for its %FORMATs. A % in a text in quotes is a %.
bool fill_in(std::string& filled, const char* text, Arguments& arguments) {
  while (const char* format = next_format_in(text)) {
    filled.append(text, format - 1);
    if (!append_argument(filled, format, arguments)) return false;
    text = format;
  }
  filled += text;
  return true;
}

tare_variant* parsed_value(const std::string& text) {
  Output out;
  const auto parsed = tare::variant::parse(out, text);
  return parsed ? make_value(parsed.type().text(), parsed.bytes(), Trust::NormalForm) : nullptr;
}

tare_variant* new_parsed(const char* text, Arguments& arguments) {
  std::string filled;
  return fill_in(filled, text, arguments) ? parsed_value(filled) : nullptr;
}

}  // namespace

extern "C" {

tare_variant* tare_variant_new_parsed_va(const char* text, va_list* arguments) {
  Arguments handed;
  va_copy(handed.list, *arguments);
  tare_variant* value = new_parsed(text, handed);
  va_end(*arguments);
  va_copy(*arguments, handed.list);
  va_end(handed.list);
  return value;
}

tare_variant* tare_variant_new_parsed(const char* text, ...) {
  Arguments arguments;
  va_start(arguments.list, text);
  tare_variant* value = new_parsed(text, arguments);
  va_end(arguments.list);
  return value;
}

bool tare_variant_builder_add_parsed(tare_variant_builder* builder, const char* text, ...) {
  Arguments arguments;
  va_start(arguments.list, text);
  tare_variant* value = new_parsed(text, arguments);
  va_end(arguments.list);
  return tare_variant_builder_add_value(builder, value);
}

tare_variant* tare_variant_parse(const char* type, const char* text, char** message) {
  if (message != nullptr) *message = nullptr;
  const auto wanted = type == nullptr ? std::nullopt : Type::parse(type);
  if (type != nullptr && !wanted.has_value()) return nullptr;
  Output out;
  const auto parsed = tare::variant::parse(out, text, wanted);
  if (!parsed) {
    if (message != nullptr) *message = strdup(parsed.error().line().c_str());
    return nullptr;
  }
  tare_variant* value = make_value(parsed.type().text(), parsed.bytes(), Trust::NormalForm);
  return value == nullptr ? nullptr : tare_variant_take_ref(value);
}

}  // extern "C"
