// GLib's entry points that make values by formats, which may have builders among their arguments.
#include <cstring>

#include "gvariant/arguments.h"
#include "gvariant/kept_types.h"
#include "gvariant/real.h"
#include "gvariant/tuple_of_numbers.h"
#include "lib/variant/c/building.h"

using tare::gvariant::GlibHost;
using tare::gvariant::real;
using tare::gvariant::TupleOfNumbers;
using tare::variant::Builder;
using tare::variant::c::Arguments;
using tare::variant::c::Assembly;
using tare::variant::c::Borrowed;
using tare::variant::c::FormatWriter;
using tare::variant::c::Text;

namespace {

// The value of a container's format, written; null, and nothing is taken, where that can't be done here.
GVariant* written_value(const char* format, std::string_view type, Arguments& arguments) {
  Borrowed assembly;
  // a variant takes any type: its content is the value
  if (assembly.get() == nullptr || !assembly->begin("v", Text::Kept)) return nullptr;
  GlibHost host;
  const auto write = [&](Builder& to) { return FormatWriter(host, to, arguments).write(format); };
  if (!assembly->add_accepted(type, write)) {
    host.roll_back();
    return nullptr;
  }
  const auto written = assembly->end();
  if (!written) {
    host.roll_back();
    return nullptr;
  }
  const std::string_view bytes = written.bytes().substr(0, written.size() - type.size() - 1);
  GVariant* value = tare::gvariant::make_value(type, bytes, host.is_trusted());
  host.commit();
  return value;
}

GVariant* value_of_numbers(TupleOfNumbers& numbers, std::string_view type, Arguments& arguments) {
  char bytes[TupleOfNumbers::kRoom];
  while (!numbers.is_complete(type.data())) numbers.add(type.data(), bytes, type[1U + numbers.count], arguments);
  return tare::gvariant::make_value(type, {bytes, numbers.whole_size()}, true);
}

GVariant* value_of(const char* format, std::size_t size, Arguments& arguments) {
  TupleOfNumbers numbers;
  if (const std::string_view type = numbers.begin(format); !type.empty()) {
    return value_of_numbers(numbers, type, arguments);
  }
  if (std::strpbrk(format, "@&^*?r") == nullptr) return written_value(format, {format, size}, arguments);
  const std::string type = tare::variant::c::type_of_format({format, size});
  return tare::variant::is_type(type) ? written_value(format, type, arguments) : nullptr;
}

}  // namespace

extern "C" {

GVariant* g_variant_new_va(const gchar* format, const gchar** end, va_list* arguments) {
  const char* format_end = format == nullptr ? nullptr : tare::variant::c::end_of_format(format);
  const bool is_one = format_end != nullptr && (end != nullptr || *format_end == 0) && arguments != nullptr;
  if (is_one && std::strchr("({ma", *format) != nullptr) {
    const auto size = static_cast<std::size_t>(format_end - format);
    Arguments handed;
    va_copy(handed.list, *arguments);
    GVariant* value = value_of(format, size, handed);
    if (value != nullptr) {
      va_end(*arguments);
      va_copy(*arguments, handed.list);
      if (end != nullptr) *end = format_end;
    } else {
      tare::gvariant::hand_over_builders(format, arguments);
    }
    va_end(handed.list);
    if (value != nullptr) return value;
  }
  return real().new_va(format, end, arguments);
}

GVariant* g_variant_new(const gchar* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  GVariant* value = g_variant_new_va(format, nullptr, &arguments);
  va_end(arguments);
  return value;
}

GVariant* g_variant_new_parsed_va(const gchar* format, va_list* arguments) {
  if (format != nullptr && arguments != nullptr) tare::gvariant::hand_over_parsed_builders(format, arguments);
  return real().new_parsed_va(format, arguments);
}

GVariant* g_variant_new_parsed(const gchar* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  GVariant* value = g_variant_new_parsed_va(format, &arguments);
  va_end(arguments);
  return value;
}

void g_variant_dict_insert(GVariantDict* dict, const gchar* key, const gchar* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  GVariant* value = g_variant_new_va(format, nullptr, &arguments);
  va_end(arguments);
  g_variant_dict_insert_value(dict, key, value);
}

// ---- no builders: for speed

GVariant* g_variant_new_strv(const gchar* const* texts, gssize count) {
  Borrowed assembly;
  if ((texts == nullptr && count != 0) || assembly.get() == nullptr || !assembly->begin("as", Text::Kept)) {
    return real().new_strv(texts, count);
  }
  for (gssize i = 0; count < 0 ? texts[i] != nullptr : i < count; ++i) {
    if (texts[i] == nullptr) return real().new_strv(texts, count);
    const std::string_view text(texts[i]);
    if (!assembly->add_accepted("s", [&](Builder& to) { return to.add_text(text); })) {
      return real().new_strv(texts, count);
    }
  }
  const auto written = assembly->end();
  return written ? tare::gvariant::make_value("as", written.bytes(), true) : real().new_strv(texts, count);
}

GVariant* g_variant_new_fixed_array(const GVariantType* element, gconstpointer elements, gsize count,
                                    gsize element_bytes) {
  const auto* code = reinterpret_cast<const char*>(element);
  if (code != nullptr && std::strchr("ybnqiuxtdh", *code) != nullptr && *code != 0) {
    const char array[2] = {'a', *code};
    tare::gvariant::keep_type({array, 2});
  }
  return real().new_fixed_array(element, elements, count, element_bytes);
}

// Not in GLib's headers: GLib's own tests call it to check that all type infos are freed.
void g_variant_type_info_assert_no_infos() {
  tare::gvariant::let_types_go();
  if (real().assert_no_infos != nullptr) real().assert_no_infos();
}

}  // extern "C"
