// Six messages by all that build values at run time: the C API with GLib's names, the builder, GLib, and as D-Bus
// method calls systemd's sd-bus, where libsystemd-dev is installed. Prints times; bench/variant_peers.py runs it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "by_c.h"
#include "by_glib.h"
#include "by_tare.h"
#include "measure.h"
#ifdef TARE_BENCH_SD_BUS
#include "by_sd_bus.h"
#endif

namespace tare::bench {
namespace {

// A value built, its bytes asked for, and freed, as GLib's programs do.
template <typename ByC, typename ByGlib, typename ByBuilder>
void measure_build(Report& report, const char* name, const char* type, ByC by_c, ByGlib by_glib, ByBuilder by_builder) {
  const std::string c = std::string(name) + "/build";
  variant::Output out;
  const auto build_c = [&] {
    tare_variant* value = tare_variant_ref_sink(by_c());
    keep(tare_variant_get_data(value));
    tare_variant_unref(value);
  };
  const auto build_glib = [&] {
    GVariant* value = g_variant_ref_sink(by_glib());
    keep(g_variant_get_data(value));
    g_variant_unref(value);
  };
  const auto build_directly = [&] {
    Builder builder(out, Type::trusted(type));
    by_builder(builder);
    keep(builder.end());
  };
  tare_variant* ours = tare_variant_ref_sink(by_c());
  GVariant* theirs = g_variant_ref_sink(by_glib());
  const std::size_t size = tare_variant_get_size(ours);
  if (size != g_variant_get_size(theirs) ||
      std::memcmp(tare_variant_get_data(ours), g_variant_get_data(theirs), size) != 0) {
    std::fprintf(stderr, "%s: other bytes than GLib's\n", name);
    std::exit(1);
  }
  tare_variant_unref(ours);
  g_variant_unref(theirs);
  measure(report, c, "tare-c", build_c);
  measure(report, c, "tare-builder", build_directly);
  measure(report, c, "glib", build_glib);
}

#ifdef TARE_BENCH_SD_BUS
// A complete method call: header and body, without a connection.
template <variant::TypeText kBody, typename Values, typename Append>
void measure_call(Report& report, const SdBus& bus, const char* name, Values values, Append append) {
  variant::DBusHeader header;
  header.serial = 17;
  header.destination = "org.freedesktop.IBus";
  header.path = "/org/freedesktop/IBus/InputContext_1";
  header.interface = "org.freedesktop.IBus.InputContext";
  header.member = "ProcessKeyEvent";
  variant::Output out;
  const std::string c = std::string(name) + "/call";
  measure(report, c, "tare", [&] { keep(variant::write_dbus_message<kBody>(out, header, values())); });
  measure(report, c, "sd-bus", [&] { bus.call(append); });
}

void measure_calls(Report& report) {
  const SdBus bus;
  measure_call<"(iiii)">(report, bus, "a_rect", [] { return rect; }, append_rect);
  measure_call<"(a{sv})">(
      report, bus, "b_vardict8", [] { return dictionary_values(size_setting, ratio_setting); }, append_dictionary);
  measure_call<"(as)">(report, bus, "c_as20", []() -> const auto& { return words; }, append_words);
  measure_call<"(uuu)">(report, bus, "d_ibus_keyev", [] { return key_event; }, append_key);
  measure_call<"(ssssssssussss)">(
      report, bus, "d_ibus_enginedesc", [] { return engine_values(engine); }, append_engine);
  measure_call<"(a(sa{sv}))">(report, bus, "e_nested3x5", [] { return nested_values(); }, append_nested);
}
#endif

void measure_builds(Report& report) {
  const auto rect_here = [](Builder& b) { build_rect(b, rect); };
  measure_build(report, "a_rect_add", "(iiii)", rect_by_c_add, [] { return rect_by_add(rect); }, rect_here);
  measure_build(
      report, "a_rect_addvalue", "(iiii)", rect_by_c_add_value, [] { return rect_by_add_value(rect); }, rect_here);
  measure_build(report, "a_rect_new", "(iiii)", rect_by_c_new, [] { return rect_by_new(rect); }, rect_here);
  measure_build(
      report, "b_vardict8", "a{sv}", dictionary_by_c_add, [] { return dictionary_by_add(size_setting, ratio_setting); },
      [](Builder& b) { build_dictionary(b, size_setting, ratio_setting); });
  measure_build(report, "c_as20_strv", "as", words_by_c_strv, words_by_strv, build_words);
  measure_build(
      report, "d_ibus_keyev", "(uuu)", key_by_c_new, [] { return key_by_new(key_event); },
      [](Builder& b) { build_key(b, key_event); });
  measure_build(
      report, "d_ibus_enginedesc", "(ssssssssussss)", engine_by_c_new, [] { return engine_by_new(engine); },
      [](Builder& b) { build_engine(b, engine); });
  measure_build(report, "e_nested3x5", "a(sa{sv})", nested_by_c_add, nested_by_add, build_nested);
}

}  // namespace
}  // namespace tare::bench

int main() {
  tare::bench::Report report;
  tare::bench::hide_from_compiler();
  tare::bench::measure_builds(report);
#ifdef TARE_BENCH_SD_BUS
  tare::bench::measure_calls(report);
#endif
  return 0;
}
