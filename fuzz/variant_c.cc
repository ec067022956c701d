// Any bytes as a value of the C API, walked to its parts by every way there is; and as a format string. The first byte
// says how long the type is that begins them.
#include "tare/variant/c.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/variant/c/formats.h"

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

void visit(tare_variant* value, int levels, std::size_t& steps);

void visit_and_unref(tare_variant* value, int levels, std::size_t& steps) {
  if (value != nullptr) visit(value, levels, steps);
  tare_variant_unref(value);
}

void read_by_formats(tare_variant* value, std::size_t& steps, int levels) {
  const char* type = tare_variant_get_type_string(value);
  tare_variant* any = nullptr;
  demand(tare_variant_get(value, "*", &any));
  demand(tare_variant_equal(any, value));
  tare_variant_unref(any);
  if (std::strcmp(type, "as") == 0 || std::strcmp(type, "aay") == 0) {
    const char** list = nullptr;
    demand(tare_variant_get(value, type[1] == 's' ? "^a&s" : "^a&ay", &list));
    std::size_t count = 0;
    for (const char** at = list; *at != nullptr; ++at) count += std::strlen(*at) + 1;
    demand(count >= tare_variant_n_children(value));
    std::free(list);
  }
  if (type[0] == 's') {
    const char* text = nullptr;
    demand(tare_variant_get(value, "&s", &text) && std::strcmp(text, tare_variant_get_string(value, nullptr)) == 0);
  }
  if (type[0] == 'v') {
    tare_variant* inside = nullptr;
    demand(tare_variant_get(value, "v", &inside));
    visit_and_unref(inside, levels - 1, steps);
  }
  if (std::strcmp(type, "a{sv}") == 0) {
    tare_variant_dict dict;
    demand(tare_variant_dict_init(&dict, value));
    tare_variant_dict_insert(&dict, "key", "i", 7);
    tare_variant* changed = tare_variant_dict_end(&dict);
    demand(changed != nullptr && tare_variant_is_normal_form(changed));
    tare_variant_unref(changed);
    tare_variant_unref(tare_variant_lookup_value(value, "key", nullptr));
  }
}

void visit(tare_variant* value, int levels, std::size_t& steps) {
  if (steps == 0 || levels == 0) return;
  --steps;
  read_by_formats(value, steps, levels);
  tare_variant_iter loop;
  std::size_t seen = 0;
  tare_variant_iter_init(&loop, value);
  tare_variant* each = nullptr;
  while (seen < 50 && tare_variant_iter_loop(&loop, "*", &each)) ++seen;
  demand(seen == std::min<std::size_t>(50, tare_variant_n_children(value)));
  tare_variant_iter* rest = tare_variant_iter_copy(&loop);
  tare_variant* next = tare_variant_iter_next_value(rest);
  demand((next == nullptr) == (seen == tare_variant_n_children(value)));
  tare_variant_unref(next);
  tare_variant_iter_free(rest);
  if (seen == 50) tare_variant_unref(each);  // the loop hasn't ended
  tare_variant_iter iter;
  std::size_t count = tare_variant_iter_init(&iter, value);
  while (tare_variant* child = tare_variant_iter_next_value(&iter)) {
    demand(count-- > 0);
    visit_and_unref(child, levels - 1, steps);
  }
  demand(count == 0);
  visit_and_unref(tare_variant_get_child_value(value, tare_variant_n_children(value) / 2), levels - 1, steps);
}

void scan_format(const std::string& text) {
  if (const char* end = tare::variant::c::end_of_format(text.c_str())) {
    const std::string_view format(text.c_str(), static_cast<std::size_t>(end - text.c_str()));
    demand(tare::variant::is_type_pattern(tare::variant::c::type_of_format(format)));
  }
  for (const char* at = text.c_str(); at != nullptr;) at = tare::variant::c::next_format_in(at);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  scan_format(input);
  const std::size_t type_size = std::min<std::size_t>(data[0] & 0x7F, input.size());
  const std::string type = input.substr(0, type_size);
  tare_variant* value = tare_variant_new_from_data(type.c_str(), input.data() + type_size, input.size() - type_size);
  if (value == nullptr) return 0;
  tare_variant_take_ref(value);
  std::size_t steps = 2'000;
  visit(value, 200, steps);
  tare_variant* normal = tare_variant_get_normal_form(value);
  demand(normal != nullptr && tare_variant_equal(value, normal) &&
         tare_variant_hash(value) == tare_variant_hash(normal));

  tare_variant_builder builder;
  demand(tare_variant_builder_init_static(&builder, "a(sv)"));
  demand(tare_variant_builder_open(&builder, "(sv)") && tare_variant_builder_add(&builder, "s", "whole"));
  demand(tare_variant_builder_open(&builder, "v"));
  if (!tare_variant_builder_add_value(&builder, value)) {  // three levels more may be too many
    demand(std::strstr(tare_variant_builder_error(&builder), "levels") != nullptr);
    demand(tare_variant_builder_add(&builder, "i", 7));
  }
  demand(tare_variant_builder_close(&builder) && tare_variant_builder_close(&builder));
  demand(tare_variant_builder_add(&builder, "(sv)", "again", normal) || tare_variant_n_children(normal) > 0);
  tare_variant* both = tare_variant_builder_end(&builder);
  demand(both != nullptr && tare_variant_is_normal_form(both));
  tare_variant_unref(both);
  tare_variant_unref(normal);
  tare_variant_unref(value);
  return 0;
}
