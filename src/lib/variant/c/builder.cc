// The builders of tare/variant/c.h, and values made by format strings.
#include <new>
#include <string>

#include "lib/variant/c/building.h"

using tare::variant::Builder;
using tare::variant::WriteError;
using tare::variant::c::ArgumentHost;
using tare::variant::c::Arguments;
using tare::variant::c::Assembly;
using tare::variant::c::assembly_of;
using tare::variant::c::Borrowed;
using tare::variant::c::consume;
using tare::variant::c::end_of_format;
using tare::variant::c::FormatWriter;
using tare::variant::c::Text;

namespace {

struct HeapBuilder {
  tare_variant_builder builder;
  std::uint32_t references;
};

bool is_container(std::string_view type) {
  return tare::variant::is_type(type) && tare::variant::Type::trusted(type).is_container();
}

bool init(tare_variant_builder* builder, const char* type, Text text) {
  assembly_of(*builder) = nullptr;
  if (!is_container(type)) return false;
  Assembly* assembly = tare::variant::c::take_assembly();
  if (assembly == nullptr) return false;
  if (!assembly->begin(type, text)) {
    tare::variant::c::give_assembly(assembly);
    return false;
  }
  assembly_of(*builder) = assembly;
  return true;
}

// The type of the value that a format and these arguments make.
std::string type_of_arguments(const char* format, Arguments& arguments) {
  Arguments copy;
  va_copy(copy.list, arguments.list);
  std::string type;
  ArgumentHost host;
  skip_arguments(host, format, copy, &type);
  va_end(copy.list);
  return type;
}

bool add(Assembly& assembly, const char* format, Arguments& arguments) {
  const char* end = end_of_format(format);
  if (end == nullptr || *end != 0) return assembly.fail(WriteError::WrongType);
  const std::string_view text(format, static_cast<std::size_t>(end - format));
  ArgumentHost host;
  const auto write = [&](Builder& to) { return FormatWriter(host, to, arguments).write(format); };
  if (text == assembly.wanted() && text[0] != '*') return assembly.add_accepted(text, write);  // it has no signs
  const std::string type = type_of_arguments(format, arguments);
  return tare::variant::is_type(type) ? assembly.add(type, write) : assembly.fail(WriteError::WrongType);
}

}  // namespace

extern "C" {

bool tare_variant_builder_init(tare_variant_builder* builder, const char* type) {
  return init(builder, type, Text::Copied);
}
bool tare_variant_builder_init_static(tare_variant_builder* builder, const char* type) {
  return init(builder, type, Text::Kept);
}

tare_variant_builder* tare_variant_builder_new(const char* type) {
  auto* made = new (std::nothrow) HeapBuilder{{}, 1};
  if (made == nullptr || init(&made->builder, type, Text::Copied)) return reinterpret_cast<tare_variant_builder*>(made);
  delete made;
  return nullptr;
}
tare_variant_builder* tare_variant_builder_ref(tare_variant_builder* builder) {
  ++reinterpret_cast<HeapBuilder*>(builder)->references;
  return builder;
}
void tare_variant_builder_unref(tare_variant_builder* builder) {
  auto* made = reinterpret_cast<HeapBuilder*>(builder);
  if (made == nullptr || --made->references > 0) return;
  tare_variant_builder_clear(builder);
  delete made;
}

bool tare_variant_builder_open(tare_variant_builder* builder, const char* type) {
  Assembly* assembly = assembly_of(*builder);
  if (assembly == nullptr) return false;
  return is_container(type) ? assembly->open(type) : assembly->fail(WriteError::WrongType);
}

bool tare_variant_builder_close(tare_variant_builder* builder) {
  Assembly* assembly = assembly_of(*builder);
  return assembly != nullptr && (assembly->close() || assembly->fail(WriteError::Incomplete));
}

bool tare_variant_builder_add_value(tare_variant_builder* builder, tare_variant* value) {
  Assembly* assembly = assembly_of(*builder);
  const bool is_added = assembly != nullptr && value != nullptr && tare::variant::c::add_value(*assembly, *value);
  consume(value);
  return is_added;
}

bool tare_variant_builder_add_va(tare_variant_builder* builder, const char* format, va_list* arguments) {
  Assembly* assembly = assembly_of(*builder);
  if (assembly == nullptr) return false;
  Arguments handed;
  va_copy(handed.list, *arguments);
  const bool is_added = add(*assembly, format, handed);
  va_end(*arguments);
  va_copy(*arguments, handed.list);
  va_end(handed.list);
  return is_added;
}

bool tare_variant_builder_add(tare_variant_builder* builder, const char* format, ...) {
  Assembly* assembly = assembly_of(*builder);
  if (assembly == nullptr) return false;
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_added = add(*assembly, format, arguments);
  va_end(arguments.list);
  return is_added;
}

tare_variant* tare_variant_builder_end(tare_variant_builder* builder) {
  Assembly* assembly = assembly_of(*builder);
  tare_variant* value = assembly == nullptr ? nullptr : tare::variant::c::end(*assembly);
  if (value != nullptr) tare_variant_builder_clear(builder);
  return value;
}

void tare_variant_builder_clear(tare_variant_builder* builder) {
  tare::variant::c::give_assembly(assembly_of(*builder));
  assembly_of(*builder) = nullptr;
}

const char* tare_variant_builder_error(const tare_variant_builder* builder) {
  const Assembly* assembly = assembly_of(const_cast<tare_variant_builder&>(*builder));
  return assembly == nullptr ? "the builder isn't initialized" : describe(assembly->last_error());
}

// ---- by formats

tare_variant* tare_variant_new_va(const char* format, const char** end, va_list* arguments) {
  const char* format_end = end_of_format(format);
  if (format_end == nullptr || (end == nullptr && *format_end != 0)) return nullptr;
  if (end != nullptr) *end = format_end;
  Arguments handed;
  va_copy(handed.list, *arguments);
  ArgumentHost host;
  tare_variant* value = nullptr;
  const std::string type = type_of_arguments(format, handed);
  Borrowed assembly;
  // a variant takes any type: its content is the value
  if (tare::variant::is_type(type) && assembly.get() != nullptr && assembly->begin("v", Text::Kept)) {
    const bool is_added =
        assembly->add(type, [&](Builder& to) { return FormatWriter(host, to, handed).write(format); });
    const auto written = is_added ? assembly->end() : tare::variant::Written(assembly->last_error());
    if (written) {
      const std::string_view bytes = written.bytes().substr(0, written.size() - type.size() - 1);
      value = tare::variant::c::make_value(type, bytes, tare::variant::c::Trust::NormalForm);
    }
  }
  va_end(*arguments);
  va_copy(*arguments, handed.list);
  va_end(handed.list);
  return value;
}

tare_variant* tare_variant_new(const char* format, ...) {
  Arguments arguments;
  va_start(arguments.list, format);
  tare_variant* value = tare_variant_new_va(format, nullptr, &arguments.list);
  va_end(arguments.list);
  return value;
}

}  // extern "C"
