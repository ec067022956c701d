// The messages as programs make them with GLib, nothing of ours linked: bench-variant-preload SUBJECT is run with
// libtare-gvariant.so preloaded and without, and prints times, or with count_malloc preloaded calls of malloc. And what
// the bytes are, to be the same in both.
#include <cstdlib>
#include <string_view>

#include "by_glib.h"
#include "measure.h"

namespace tare::bench {
namespace {

struct Message {
  const char* name;
  GVariant* (*build)();
};

constexpr Message kMessages[] = {
    {"a_rect_add", [] { return rect_by_add(rect); }},
    {"a_rect_addvalue", [] { return rect_by_add_value(rect); }},
    {"a_rect_new", [] { return rect_by_new(rect); }},
    {"b_vardict8", [] { return dictionary_by_add(size_setting, ratio_setting); }},
    {"b_vardict8_open", [] { return dictionary_by_open(size_setting, ratio_setting); }},
    {"c_as20", [] { return words_by_add(); }},
    {"c_as20_strv", [] { return words_by_strv(); }},
    {"d_ibus_keyev", [] { return key_by_new(key_event); }},
    {"d_ibus_enginedesc", [] { return engine_by_new(engine); }},
    {"d_ibus_preedit", [] { return preedit_by_new(texts.preedit.data()); }},
    {"e_nested3x5", [] { return nested_by_add(); }},
    {"f_aay10x100", [] { return blobs_by_add(); }},
    {"f_ai1000", [] { return numbers_by_add(); }},
    {"f_ai1000_fixed", [] { return numbers_by_fixed_array(); }},
};

// The seed's own loop: small and medium values, made with GVariantBuilder, one after the other.
void build_small_and_medium() {
  for (GVariant* (*build)() : {kMessages[0].build, kMessages[3].build, kMessages[4].build, kMessages[5].build,
                               kMessages[7].build, kMessages[8].build, kMessages[10].build}) {
    GVariant* value = g_variant_ref_sink(build());
    keep(g_variant_get_data(value));
    g_variant_unref(value);
  }
}

GDBusMessage* message_of(GVariant* body) {
  GDBusMessage* message = g_dbus_message_new_method_call("org.freedesktop.IBus", "/org/freedesktop/IBus/InputContext_1",
                                                         "org.freedesktop.IBus.InputContext", "ProcessKeyEvent");
  g_dbus_message_set_serial(message, 17);
  if (!g_variant_is_of_type(body, G_VARIANT_TYPE_TUPLE)) body = g_variant_new_tuple(&body, 1);
  g_dbus_message_set_body(message, body);
  return message;
}

guchar* sent(const Message& message, gsize& size) {
  GDBusMessage* call = message_of(message.build());
  guchar* bytes = g_dbus_message_to_blob(call, &size, G_DBUS_CAPABILITY_FLAGS_NONE, nullptr);
  g_object_unref(call);
  return bytes;
}

// Reads all of a message's body, as a receiver does.
void walk(GVariant* value) {
  const gsize count = g_variant_is_container(value) ? g_variant_n_children(value) : 0;
  for (gsize i = 0; i < count; ++i) {
    GVariant* child = g_variant_get_child_value(value, i);
    walk(child);
    g_variant_unref(child);
  }
}

void measure_message(Report& report, const char* subject, const Message& message) {
  const std::string name(message.name);
  GVariant* value = g_variant_ref_sink(message.build());
  const auto* bytes = static_cast<const char*>(g_variant_get_data(value));
  unsigned sum = 5381;
  for (gsize i = 0; i < g_variant_get_size(value); ++i) sum = sum * 33 + static_cast<unsigned char>(bytes[i]);
  report.add(name + "/preload", subject, "digest", sum % 1'000'000, "number");  // printed in six digits
  g_variant_unref(value);
  measure(report, name + "/preload", subject, [&] {
    GVariant* made = g_variant_ref_sink(message.build());
    keep(g_variant_get_data(made));
    g_variant_unref(made);
  });
  measure(report, name + "/preload-send", subject, [&] {
    gsize size = 0;
    guchar* made = sent(message, size);
    keep(made);
    g_free(made);
  });
  gsize size = 0;
  guchar* blob = sent(message, size);
  measure(report, name + "/preload-receive", subject, [&] {
    GDBusMessage* received = g_dbus_message_new_from_blob(blob, size, G_DBUS_CAPABILITY_FLAGS_NONE, nullptr);
    walk(g_dbus_message_get_body(received));
    g_object_unref(received);
  });
  g_free(blob);
}

}  // namespace
}  // namespace tare::bench

int main(int, char** argv) {
  const char* subject = argv[1] == nullptr ? "glib" : argv[1];
  tare::bench::Report report;
  tare::bench::hide_from_compiler();
  for (const auto& message : tare::bench::kMessages) tare::bench::measure_message(report, subject, message);
  tare::bench::measure(report, "small-and-medium/preload", subject, tare::bench::build_small_and_medium);
  return 0;
}
