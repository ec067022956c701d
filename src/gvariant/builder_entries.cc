// GLib's entry points of builders. Errors of a caller get GLib's messages, and have the same effect: none.
#include <cstring>

#include "gvariant/arguments.h"
#include "gvariant/builders.h"
#include "gvariant/real.h"

using tare::gvariant::Assembly;
using tare::gvariant::begun;
using tare::gvariant::GlibHost;
using tare::gvariant::OurBuilder;
using tare::gvariant::ours_of;
using tare::gvariant::real;
using tare::gvariant::TupleOfNumbers;
using tare::variant::Builder;
using tare::variant::c::Arguments;
using tare::variant::c::FormatWriter;

namespace {

struct HeapBuilder {
  static constexpr gsize kMark = 0x7461'7265'4756'0003;
  GVariantBuilder builder;
  gsize mark;  // GLib has its own here
  gint references;
};

void complain(const char* function, const char* expression) { g_return_if_fail_warning("GLib", function, expression); }

enum class TypeText : bool { Copied, Kept };

void init(GVariantBuilder* builder, const GVariantType* type, TypeText kept) {
  TupleOfNumbers numbers;
  std::string_view text = numbers.begin(reinterpret_cast<const char*>(type));
  if (text.empty()) {
    const bool is_container =
        type != nullptr && (tare::variant::type_details::code_bits(*reinterpret_cast<const char*>(type)) &
                            tare::variant::type_details::kBasic) == 0;
    if (is_container) text = tare::gvariant::text_of(type);
  }
  if (builder == nullptr || text.empty() || (!numbers.is_possible() && !tare::variant::c::is_definite(text))) {
    return kept == TypeText::Kept ? real().init_static(builder, type) : real().init(builder, type);
  }
  auto& ours = reinterpret_cast<OurBuilder&>(*builder);
  ours.numbers = numbers;
  ours.mark = OurBuilder::kMark;
  ours.end_mark = OurBuilder::kEndMark;
  ours.assembly = nullptr;
  ours.sub = nullptr;
  ours.type = nullptr;
  ours.type_size = static_cast<guint32>(text.size());
  ours.sub_depth = 0;
  ours.is_trusted = true;
  ours.is_type_ours = false;
  if (kept == TypeText::Kept) {
    ours.type = text.data();
  } else if (text.size() <= sizeof ours.text) {
    std::memcpy(ours.text, text.data(), text.size());
  } else {
    ours.type = g_strndup(text.data(), text.size());
    ours.is_type_ours = true;
  }
}

// Writes a number whose format is one code. False, and nothing is added, where the format or the place is another one.
// The general way takes 100 instructions more.
inline bool add_number(OurBuilder& ours, const char* format, Arguments& arguments) {
  const char code = format == nullptr ? '*' : *format;
  if (!tare::variant::c::is_number(code) || format[1] != 0) return false;
  if (ours.assembly == nullptr && ours.numbers.add(ours.type_text().data(), ours.number_bytes(), code, arguments))
    return true;
  Assembly& assembly = begun(ours);
  return assembly.wants(code) &&
         assembly.add_wanted([&](Builder& to) { return tare::variant::c::write_number(to, code, arguments); });
}

// Writes a format's arguments. False, and nothing is added or taken, where that can't be done here.
bool add_by_format(OurBuilder& ours, const char* format, Arguments& arguments) {
  Assembly& assembly = begun(ours);
  const std::string_view wanted = assembly.wanted();
  GlibHost host;
  const auto write = [&](Builder& to) { return FormatWriter(host, to, arguments).write(format); };
  bool is_added = false;
  if (!wanted.empty() && wanted != tare::variant::c::kAnyType &&
      std::strncmp(format, wanted.data(), wanted.size()) == 0 && format[wanted.size()] == 0) {
    is_added = assembly.add_accepted(wanted, write);
  } else {
    const char* end = tare::variant::c::end_of_format(format);
    if (end == nullptr || *end != 0) return false;
    const std::string type = tare::variant::c::type_of_format({format, static_cast<std::size_t>(end - format)});
    if (!tare::variant::is_type(type)) return false;
    is_added = assembly.add(type, write);
  }
  if (is_added) {
    ours.is_trusted = ours.is_trusted && host.is_trusted();
    host.commit();
  } else {
    host.roll_back();
  }
  return is_added;
}

bool add_whole(OurBuilder& ours, GVariant* value) {
  bool is_trusted = ours.is_trusted;
  const bool is_added = begun(ours).add(g_variant_get_type_string(value), [&](Builder& to) {
    return tare::gvariant::add_bytes_of(to, value, is_trusted);
  });
  if (!is_added) return false;
  ours.is_trusted = is_trusted;
  tare::gvariant::consume(value);
  return true;
}

}  // namespace

extern "C" {

void g_variant_builder_init(GVariantBuilder* builder, const GVariantType* type) {
  init(builder, type, TypeText::Copied);
}

// In GLib since 2.84.
void g_variant_builder_init_static(GVariantBuilder* builder, const GVariantType* type) {
  init(builder, type, TypeText::Kept);
}

GVariantBuilder* g_variant_builder_new(const GVariantType* type) {
  auto* made = g_new0(HeapBuilder, 1);
  init(&made->builder, type, TypeText::Copied);
  made->mark = HeapBuilder::kMark;
  made->references = 1;
  return &made->builder;
}

GVariantBuilder* g_variant_builder_ref(GVariantBuilder* builder) {
  auto* made = reinterpret_cast<HeapBuilder*>(builder);
  if (builder == nullptr || made->mark != HeapBuilder::kMark) return real().ref(builder);
  ++made->references;
  return builder;
}

void g_variant_builder_unref(GVariantBuilder* builder) {
  auto* made = reinterpret_cast<HeapBuilder*>(builder);
  if (builder == nullptr || made->mark != HeapBuilder::kMark) return real().unref(builder);
  if (--made->references > 0) return;
  g_variant_builder_clear(builder);
  made->mark = 0;
  g_free(made);
}

void g_variant_builder_clear(GVariantBuilder* builder) {
  if (builder == nullptr || !tare::gvariant::is_ours(*builder)) return real().clear(builder);
  tare::gvariant::forget(reinterpret_cast<OurBuilder&>(*builder));
}

void g_variant_builder_open(GVariantBuilder* builder, const GVariantType* type) {
  OurBuilder* ours = ours_of(builder);
  if (ours == nullptr || type == nullptr) return real().open(builder, type);
  if (ours->sub != nullptr) {
    ++ours->sub_depth;
    return real().open(ours->sub, type);
  }
  const std::string_view text = tare::gvariant::text_of(type);
  Assembly& assembly = begun(*ours);
  if (assembly.wanted() == tare::variant::c::kAnyType && !tare::variant::c::is_definite(text)) {
    ours->sub = g_variant_builder_new(type);  // GLib's inside, as its type isn't definite
    ours->sub_depth = 1;
  } else if (!assembly.accepts(text) || !assembly.open(text)) {
    complain("g_variant_builder_open", "the type fits the builder's next child");
  }
}

void g_variant_builder_close(GVariantBuilder* builder) {
  OurBuilder* ours = ours_of(builder);
  if (ours == nullptr) return real().close(builder);
  if (ours->sub != nullptr && ours->sub_depth > 1) {
    --ours->sub_depth;
    return real().close(ours->sub);
  }
  if (ours->sub != nullptr) {
    GVariant* value = g_variant_builder_end(ours->sub);
    if (value == nullptr) return;
    g_variant_builder_unref(ours->sub);
    ours->sub = nullptr;
    if (!add_whole(*ours, value)) complain("g_variant_builder_close", "the built value fits its place");
  } else if (!begun(*ours).close()) {
    ours->assembly->drop();
    complain("g_variant_builder_close", "a container is open, and complete");
  }
}

void g_variant_builder_add_value(GVariantBuilder* builder, GVariant* value) {
  OurBuilder* ours = ours_of(builder);
  if (ours == nullptr) return real().add_value(builder, value);
  if (ours->sub != nullptr) return real().add_value(ours->sub, value);
  if (value == nullptr) return complain("g_variant_builder_add_value", "value != NULL");
  if (is_empty(*ours)) {
    tare::gvariant::hand_over_empty(*ours);
    return real().add_value(builder, value);
  }
  if (!add_whole(*ours, value)) complain("g_variant_builder_add_value", "the value fits the builder's next child");
}

void g_variant_builder_add(GVariantBuilder* builder, const gchar* format, ...) {
  OurBuilder* ours = ours_of(builder);
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_added = ours != nullptr && ours->sub == nullptr &&
                        (add_number(*ours, format, arguments) || add_by_format(*ours, format, arguments));
  va_end(arguments.list);
  if (is_added) return;
  va_start(arguments.list, format);
  GVariant* value = nullptr;
  if (ours == nullptr || ours->sub != nullptr) {
    value = g_variant_new_va(format, nullptr, &arguments.list);
  } else {
    tare::gvariant::hand_over_builders(format, &arguments.list);
    value = real().new_va(format, nullptr, &arguments.list);
  }
  va_end(arguments.list);
  g_variant_builder_add_value(builder, value);
}

void g_variant_builder_add_parsed(GVariantBuilder* builder, const gchar* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  GVariant* value = g_variant_new_parsed_va(format, &arguments);
  va_end(arguments);
  g_variant_builder_add_value(builder, value);
}

GVariant* g_variant_builder_end(GVariantBuilder* builder) {
  OurBuilder* ours = ours_of(builder);
  if (ours == nullptr) return real().end(builder);
  if (ours->assembly == nullptr && ours->numbers.is_complete(ours->type_text().data())) {
    const std::string_view bytes(ours->number_bytes(), ours->numbers.whole_size());
    GVariant* value = tare::gvariant::make_value(ours->type_text(), bytes, true);
    tare::gvariant::forget(*ours);
    return value;
  }
  Assembly& assembly = begun(*ours);
  const auto written = ours->sub == nullptr ? assembly.end() : tare::variant::WriteError::Incomplete;
  if (!written) {
    complain("g_variant_builder_end", "all containers are closed, and the value is complete");
    return nullptr;
  }
  GVariant* value = tare::gvariant::make_value(assembly.type(), written.bytes(), ours->is_trusted);
  tare::gvariant::forget(*ours);
  return value;
}

}  // extern "C"
