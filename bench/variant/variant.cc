// The variant bench: fourteen messages built as bytes by types of compile time, by types of run time, by hand and by
// GLib; as complete D-Bus messages; looked up in and validated. Prints times, or with count_malloc preloaded calls of
// malloc. `bench-variant growth` prints how reading hostile bytes grows with their size instead, `bench-variant
// ablation` what each step of making a value tree faster gives.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "by_glib.h"
#include "by_hand.h"
#include "by_tare.h"
#include "measure.h"
#include "tare/variant/view.h"
#include "value_tree.h"

namespace tare::bench {
namespace {

using variant::DBusHeader;
using variant::Output;
using variant::TypeText;
using variant::View;
using variant::Writer;

void demand_same(const std::string& name, std::string_view expected, std::string_view got) {
  if (expected == got) return;
  std::fprintf(stderr, "%s: other bytes (%zu, GLib has %zu)\n", name.c_str(), got.size(), expected.size());
  std::exit(1);
}

std::string glib_bytes(GVariant* value) {
  g_variant_ref_sink(value);
  const std::string bytes(static_cast<const char*>(g_variant_get_data(value)), g_variant_get_size(value));
  g_variant_unref(value);
  return bytes;
}

template <TypeText kType, typename Values, typename Build, typename ByHand, typename ByGlib>
void measure_builds(Report& report, const std::string& name, Values values, Build build, ByHand by_hand,
                    ByGlib by_glib) {
  static constexpr auto kText = kType;
  const Type type = Type::trusted(kText.view());
  const std::string expected = glib_bytes(by_glib());
  Output out;
  out.reserve(1 << 14);  // a buffer that has been used before
  static char memory[1 << 14];
  const auto write_typed = [&] { keep(Writer<kType>::write(out, values())); };
  const auto write_malloced = [&] { keep(Writer<kType>::write_malloced(values())); };
  const auto build_reused = [&] {
    Builder builder(out, type);
    build(builder);
    keep(builder.end());
  };
  const auto build_released = [&] {
    Output fresh;
    Builder builder(fresh, type);
    build(builder);
    builder.end();
    keep(fresh.release());
  };
  const auto write_by_hand = [&] {
    char* to = memory;
    asm volatile("" : "+r"(to) : : "memory");  // as unknown to the compiler as an Output's memory
    HandWriter writer(to);
    by_hand(writer);
    keep(writer.is_ok());
    const variant::Written written(to, writer.at());  // what a sender must know
    keep(written);
    return written.size();
  };
  const auto build_glib = [&] {
    GVariant* value = g_variant_ref_sink(by_glib());
    keep(g_variant_get_data(value));
    g_variant_unref(value);
  };
  demand_same(name + ", typed", expected, Writer<kType>::write(out, values()).bytes());
  build_reused();
  demand_same(name + ", run-time", expected, out.bytes());
  demand_same(name + ", by hand", expected, {memory, write_by_hand()});

  measure(report, name + "/build-typed", "tare", write_typed);
  measure(report, name + "/build-typed", "tare-malloced", write_malloced);
  measure(report, name + "/build-typed", "hand", write_by_hand);
  measure(report, name + "/build-typed", "glib", build_glib);
  measure(report, name + "/build-runtime", "tare", build_reused);
  measure(report, name + "/build-runtime", "tare-malloced", build_released);
  measure(report, name + "/build-runtime", "hand", write_by_hand);
  measure(report, name + "/build-runtime", "glib", build_glib);

  const GVariantType* glib_type = G_VARIANT_TYPE(kText.text);
  const View view(type, expected);
  measure(report, name + "/validate", "tare", [&] { keep(view.is_normal()); });
  measure(report, name + "/validate", "glib", [&] {
    GVariant* value = g_variant_new_from_data(glib_type, expected.data(), expected.size(), FALSE, nullptr, nullptr);
    keep(g_variant_is_normal_form(value));
    g_variant_unref(value);
  });
}

// A method call with the message as its only argument, or its members as arguments.
template <TypeText kBody, typename Values, typename ByGlib>
void measure_dbus(Report& report, const std::string& name, Values values, ByGlib by_glib) {
  DBusHeader header;
  header.serial = 17;
  header.destination = "org.freedesktop.IBus";
  header.path = "/org/freedesktop/IBus/InputContext_1";
  header.interface = "org.freedesktop.IBus.InputContext";
  header.member = "ProcessKeyEvent";
  Output out;
  const auto write = [&] { return variant::write_dbus_message<kBody>(out, header, values()); };
  const auto blob = [&](gsize& size) {
    GDBusMessage* message = g_dbus_message_new_method_call(header.destination.data(), header.path.data(),
                                                           header.interface.data(), header.member.data());
    g_dbus_message_set_serial(message, 17);
    GVariant* body = by_glib();
    if (!g_variant_is_of_type(body, G_VARIANT_TYPE_TUPLE)) body = g_variant_new_tuple(&body, 1);
    g_dbus_message_set_body(message, body);
    guchar* bytes = g_dbus_message_to_blob(message, &size, G_DBUS_CAPABILITY_FLAGS_NONE, nullptr);
    g_object_unref(message);
    return bytes;
  };
  // header fields have no order of their own: sizes and bodies must agree
  gsize size = 0;
  guchar* bytes = blob(size);
  const auto theirs = variant::DBusMessage::parse({reinterpret_cast<const char*>(bytes), size});
  const variant::Written ours = write();
  const auto read = variant::DBusMessage::parse(ours.bytes());
  if (!theirs.has_value() || !read.has_value()) std::exit(1);
  demand_same(name + ", D-Bus", theirs->body_bytes(), read->body_bytes());
  g_free(bytes);

  measure(report, name + "/dbus", "tare", [&] { keep(write()); });
  measure(report, name + "/dbus", "glib", [&] {
    gsize blob_size = 0;
    guchar* made = blob(blob_size);
    keep(made);
    g_free(made);
  });
}

// The hand-written reader: knows that it reads a small a{sv}, and checks bounds as it must for bytes of others.
std::string_view find_by_hand(std::string_view bytes, std::string_view key) {
  const auto byte_at = [bytes](std::size_t at) -> std::size_t { return static_cast<unsigned char>(bytes[at]); };
  const std::size_t table = byte_at(bytes.size() - 1);
  if (table >= bytes.size()) return {};
  std::size_t begin = 0;
  for (std::size_t at = table; at < bytes.size(); ++at) {
    const std::size_t end = byte_at(at);
    if (end <= begin || end > table) return {};
    const std::size_t key_end = byte_at(end - 1);
    if (key_end == key.size() + 1 && begin + key_end < end && bytes.compare(begin, key.size(), key) == 0 &&
        bytes[begin + key.size()] == 0) {
      const std::size_t value = (key_end + 7) & ~std::size_t{7};
      return begin + value < end ? bytes.substr(begin + value, end - 1 - begin - value) : std::string_view();
    }
    begin = (end + 7) & ~std::size_t{7};
  }
  return {};
}
std::uint32_t number_by_hand(std::string_view variant) {
  std::uint32_t number = 0;
  if (variant.size() == 6 && variant[4] == 0 && variant[5] == 'u') std::memcpy(&number, variant.data(), 4);
  return number;
}
std::string_view text_by_hand(std::string_view variant) {
  const std::size_t size = variant.size();
  if (size < 3 || variant[size - 1] != 's' || variant[size - 2] != 0 || variant[size - 3] != 0) return {};
  const std::string_view text = variant.substr(0, size - 3);
  return variant::is_text(text) ? text : std::string_view();
}
bool bool_by_hand(std::string_view variant) {
  return variant.size() == 3 && variant[1] == 0 && variant[2] == 'b' && variant[0] != 0;
}

void measure_lookups(Report& report) {
  const std::string name = "b_vardict8/lookup";
  const std::string bytes = glib_bytes(dictionary_by_add(size_setting, ratio_setting));
  const auto look_up = [](const View& view) {
    keep(view.lookup("size")->as_uint32());
    keep(view.lookup("enabled")->as_bool());
    keep(view.lookup("title")->text());
  };
  measure(report, name, "tare", [&] { look_up(View("a{sv}", bytes)); });
  const View trusted = View("a{sv}", bytes).trusting_normal_form();
  measure(report, name, "tare-validated", [&] { look_up(trusted); });
  measure(report, name, "hand", [&] {
    keep(number_by_hand(find_by_hand(bytes, "size")));
    keep(bool_by_hand(find_by_hand(bytes, "enabled")));
    keep(text_by_hand(find_by_hand(bytes, "title")));
  });
  measure(report, name, "glib", [&] {
    GVariant* value =
        g_variant_new_from_data(G_VARIANT_TYPE("a{sv}"), bytes.data(), bytes.size(), FALSE, nullptr, nullptr);
    guint32 number = 0;
    gboolean is_enabled = FALSE;
    const char* title = nullptr;
    g_variant_lookup(value, "size", "u", &number);
    g_variant_lookup(value, "enabled", "b", &is_enabled);
    g_variant_lookup(value, "title", "&s", &title);
    keep(number);
    keep(is_enabled);
    keep(title);
    g_variant_unref(value);
  });
}

// Bytes that made other readers slow, twice as many from row to row: nanoseconds a byte stay what they are.
void measure_growth(Report& report) {
  const auto add = [&report](const std::string& name, Type type, const std::string& bytes) {
    const View view(type, bytes);
    Output out;
    const double begin = cpu_ns();
    keep(view.is_normal());
    keep(view.hash());
    keep(view.normal_form(out));
    report.add(name + "/" + std::to_string(bytes.size()), "tare", "time_per_byte",
               (cpu_ns() - begin) / static_cast<double>(bytes.size()), "ns");
  };
  for (std::size_t size = 1 << 12; size <= 1 << 22; size *= 4) {
    add("hostile-equal-ends", "aay", std::string(size, '\0'));
    add("hostile-falling-ends", "as", [size] {
      std::string bytes(size, 'x');
      for (std::size_t i = size / 2; i + 4 <= size; i += 4) {
        const auto end = static_cast<std::uint32_t>(size - i);
        std::memcpy(bytes.data() + i, &end, 4);
      }
      const auto table = static_cast<std::uint32_t>(size / 2);
      std::memcpy(bytes.data() + size - 4, &table, 4);
      return bytes;
    }());
    std::string nested("\1\0y", 3);
    while (nested.size() < size) nested.append("\0v", 2);
    add("hostile-nested", "v", nested);
    std::string type(size, 'a');
    type[0] = '\0';
    std::fill(type.begin() + static_cast<std::ptrdiff_t>(size / 2), type.end(), '(');
    add("hostile-type", "v", type);
    // thousands of empty tuples that share one type as long as all of them; hashing would visit each member of each
    std::string shared(size / 2, '\0');
    shared += std::string("\0a(", 3);
    while (shared.size() < size - 1) shared += "ai";
    shared += ')';
    const View tuples("v", shared);
    const double begin = cpu_ns();
    keep(tuples.is_normal());
    report.add("hostile-shared-type/" + std::to_string(size), "tare", "time_per_byte",
               (cpu_ns() - begin) / static_cast<double>(shared.size()), "ns");
  }
}

// ---- the steps that made a value tree faster, one after another, and no tree at last

template <unsigned kSteps>
typename ValueTree<kSteps>::Value* rect_tree() {
  typename ValueTree<kSteps>::Builder builder("(iiii)");
  for (const std::int32_t number : {rect.x, rect.y, rect.width, rect.height}) builder.add("i", number);
  return builder.end();
}
template <unsigned kSteps>
typename ValueTree<kSteps>::Value* dictionary_tree() {
  using Tree = ValueTree<kSteps>;
  typename Tree::Builder builder("a{sv}");
  const auto add = [&builder](std::size_t key, std::string_view type, auto value) {
    typename Tree::Builder variant("v");
    variant.add(type, value);
    typename Tree::Builder entry("{sv}");
    entry.add("s", texts.keys[key].data());
    entry.add_value(variant.end());
    builder.add_value(entry.end());
  };
  add(0, "s", texts.name.data());
  add(1, "u", size_setting);
  add(2, "b", std::uint8_t{1});
  add(3, "d", ratio_setting);
  add(4, "x", std::int64_t{-7});
  add(5, "s", texts.title.data());
  add(6, "i", std::int32_t{8});
  add(7, "y", std::uint8_t{3});
  return builder.end();
}

template <unsigned kSteps, typename Make>
void measure_tree(Report& report, const std::string& name, const char* step, std::string_view expected, Make make) {
  using Tree = ValueTree<kSteps>;
  const auto build = [&] {
    typename Tree::Value* value = make();
    Tree::sink(value);
    keep(value);
    Tree::unref(value);
  };
  typename Tree::Value* value = make();
  Tree::sink(value);
  demand_same(name + ", " + step, expected, Tree::serialized(*value));
  Tree::unref(value);
  measure(report, "ablation/" + name, step, build);
}

constexpr const char* kStepNames[] = {"type infos kept alive",
                                      "looked up without a copy",
                                      "looked up without a lock",
                                      "assertions in debug builds only",
                                      "format strings without malloc",
                                      "definite types their own subtypes",
                                      "texts checked and measured in one walk",
                                      "no realloc where the count is known",
                                      "sunk without a lock",
                                      "ownership handed over",
                                      "small data in the bytes: 3 blocks to 2",
                                      "small data in the value: 2 blocks to 1",
                                      "the builder's type not copied"};

template <unsigned kStep>
void measure_step(Report& report, const std::string& rect_bytes, const std::string& dictionary_bytes) {
  constexpr unsigned kSteps = (1U << kStep) - 1;
  const char* name = kStep == 0 ? "as it was" : kStepNames[kStep - 1];
  measure_tree<kSteps>(report, "(iiii)", name, rect_bytes, rect_tree<kSteps>);
  measure_tree<kSteps>(report, "a{sv} of 8", name, dictionary_bytes, dictionary_tree<kSteps>);
}

void measure_ablation(Report& report) {
  hide_from_compiler();
  const std::string rect_bytes = glib_bytes(rect_by_new(rect));
  const std::string dictionary_bytes = glib_bytes(dictionary_by_add(size_setting, ratio_setting));
  [&]<unsigned... kSteps>(std::integer_sequence<unsigned, kSteps...>) {
    (measure_step<kSteps>(report, rect_bytes, dictionary_bytes), ...);
  }(std::make_integer_sequence<unsigned, std::size(kStepNames) + 1>());
  Output out;
  measure(report, "ablation/(iiii)", "no tree: variant::Builder", [&] {
    Builder builder(out, "(iiii)");
    build_rect(builder, rect);
    keep(builder.end());
  });
  measure(report, "ablation/a{sv} of 8", "no tree: variant::Builder", [&] {
    Builder builder(out, "a{sv}");
    build_dictionary(builder, size_setting, ratio_setting);
    keep(builder.end());
  });
  measure(report, "ablation/(iiii)", "types known to the compiler", [&] { keep(Writer<"(iiii)">::write(out, rect)); });
  measure(report, "ablation/a{sv} of 8", "types known to the compiler",
          [&] { keep(Writer<"a{sv}">::write(out, dictionary_values(size_setting, ratio_setting))); });
}

void measure_all(Report& report) {
  hide_from_compiler();
  const auto rect_value = []() -> const auto& { return rect; };
  const auto build_rect_here = [](Builder& b) { build_rect(b, rect); };
  const auto rect_hand = [](HandWriter& to) { rect_by_hand(to, rect); };
  measure_builds<"(iiii)">(report, "a_rect_add", rect_value, build_rect_here, rect_hand,
                           [] { return rect_by_add(rect); });
  measure_builds<"(iiii)">(report, "a_rect_addvalue", rect_value, build_rect_here, rect_hand,
                           [] { return rect_by_add_value(rect); });
  measure_builds<"(iiii)">(report, "a_rect_new", rect_value, build_rect_here, rect_hand,
                           [] { return rect_by_new(rect); });
  const auto dictionary = [] { return dictionary_values(size_setting, ratio_setting); };
  const auto build_dictionary_here = [](Builder& b) { build_dictionary(b, size_setting, ratio_setting); };
  const auto dictionary_hand = [](HandWriter& to) { dictionary_by_hand(to, size_setting, ratio_setting); };
  measure_builds<"a{sv}">(report, "b_vardict8", dictionary, build_dictionary_here, dictionary_hand,
                          [] { return dictionary_by_add(size_setting, ratio_setting); });
  measure_builds<"a{sv}">(report, "b_vardict8_open", dictionary, build_dictionary_here, dictionary_hand,
                          [] { return dictionary_by_open(size_setting, ratio_setting); });
  const auto words_value = []() -> const auto& { return words; };
  measure_builds<"as">(report, "c_as20", words_value, build_words, words_by_hand, words_by_add);
  measure_builds<"as">(report, "c_as20_strv", words_value, build_words, words_by_hand, words_by_strv);
  const auto key = []() -> const auto& { return key_event; };
  measure_builds<"(uuu)">(
      report, "d_ibus_keyev", key, [](Builder& b) { build_key(b, key_event); },
      [](HandWriter& to) { key_by_hand(to, key_event); }, [] { return key_by_new(key_event); });
  const auto engine_value = [] { return engine_values(engine); };
  measure_builds<"(ssssssssussss)">(
      report, "d_ibus_enginedesc", engine_value, [](Builder& b) { build_engine(b, engine); },
      [](HandWriter& to) { engine_by_hand(to, engine); }, [] { return engine_by_new(engine); });
  const auto preedit = [] { return preedit_values(texts.preedit); };
  measure_builds<"(sa{sv}sv)">(
      report, "d_ibus_preedit", preedit, [](Builder& b) { build_preedit(b, texts.preedit); },
      [](HandWriter& to) { preedit_by_hand(to, texts.preedit); }, [] { return preedit_by_new(texts.preedit.data()); });
  measure_builds<"a(sa{sv})">(report, "e_nested3x5", nested_values, build_nested, nested_by_hand, nested_by_add);
  const auto blobs = []() -> const auto& { return ten_blobs(); };
  measure_builds<"aay">(report, "f_aay10x100", blobs, build_blobs, blobs_by_hand, blobs_by_add);
  const auto numbers = []() -> const auto& { return thousand_numbers(); };
  measure_builds<"ai">(report, "f_ai1000", numbers, build_numbers, numbers_by_hand, numbers_by_add);
  measure_builds<"ai">(report, "f_ai1000_fixed", numbers, build_numbers_at_once, numbers_by_hand,
                       numbers_by_fixed_array);

  measure_dbus<"(iiii)">(report, "a_rect_new", rect_value, [] { return rect_by_new(rect); });
  measure_dbus<"(a{sv})">(report, "b_vardict8", dictionary,
                          [] { return dictionary_by_add(size_setting, ratio_setting); });
  measure_dbus<"(as)">(report, "c_as20", words_value, words_by_add);
  measure_dbus<"(uuu)">(report, "d_ibus_keyev", key, [] { return key_by_new(key_event); });
  measure_dbus<"(ssssssssussss)">(report, "d_ibus_enginedesc", engine_value, [] { return engine_by_new(engine); });
  measure_dbus<"(sa{sv}sv)">(report, "d_ibus_preedit", preedit, [] { return preedit_by_new(texts.preedit.data()); });
  measure_dbus<"(a(sa{sv}))">(report, "e_nested3x5", nested_values, nested_by_add);
  measure_dbus<"(aay)">(report, "f_aay10x100", blobs, blobs_by_add);
  measure_dbus<"(ai)">(report, "f_ai1000", numbers, numbers_by_add);
  measure_lookups(report);
}

}  // namespace
}  // namespace tare::bench

int main(int argc, char** argv) {
  tare::bench::Report report;
  if (argc > 1 && std::strcmp(argv[1], "growth") == 0) {
    tare::bench::measure_growth(report);
  } else if (argc > 1 && std::strcmp(argv[1], "ablation") == 0) {
    tare::bench::measure_ablation(report);
  } else {
    tare::bench::measure_all(report);
  }
  return 0;
}
