// The dictionaries of tare/variant/c.h: entries in the order of insertion, found through a table of their keys.
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/variant/c/building.h"
#include "lib/variant/c/format_reader.h"
#include "tare/variant/text_rules.h"

using tare::variant::Builder;
using tare::variant::c::Arguments;
using tare::variant::c::Borrowed;
using tare::variant::c::Text;
using tare::variant::c::view_of;

namespace {

struct Entries {
  struct Entry {
    std::string key;
    tare_variant* value;  // null: removed
  };
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::size_t> places;

  ~Entries() {
    for (const Entry& entry : entries) tare_variant_unref(entry.value);
  }
  tare_variant* find(const char* key) const {
    const auto found = places.find(key);
    return found == places.end() ? nullptr : entries[found->second].value;
  }
  void put(std::string_view key, tare_variant* value) {
    const auto [place, is_new] = places.try_emplace(std::string(key), entries.size());
    if (is_new) {
      entries.push_back({std::string(key), value});
    } else {
      tare_variant_unref(std::exchange(entries[place->second].value, value));
    }
  }
};

struct HeapDict {
  tare_variant_dict dict;
  std::uint32_t references;
};

Entries*& entries_of(const tare_variant_dict* dict) {
  return *reinterpret_cast<Entries**>(&const_cast<tare_variant_dict*>(dict)->private_[0]);
}

}  // namespace

extern "C" {

bool tare_variant_dict_init(tare_variant_dict* dict, tare_variant* from) {
  entries_of(dict) = nullptr;
  if (from != nullptr && tare::variant::c::type_of(*from) != "a{sv}") return false;
  auto* made = new (std::nothrow) Entries;
  entries_of(dict) = made;
  if (made == nullptr || from == nullptr) return made != nullptr;
  for (const auto& entry : view_of(*from)) {
    tare_variant* value = tare::variant::c::part_of(*from, entry.child(1).inside());
    if (value == nullptr) {
      tare_variant_dict_clear(dict);
      return false;
    }
    made->put(entry.child(0).text(), value);
  }
  return true;
}

tare_variant_dict* tare_variant_dict_new(tare_variant* from) {
  auto* made = new (std::nothrow) HeapDict{{}, 1};
  if (made == nullptr || tare_variant_dict_init(&made->dict, from)) return reinterpret_cast<tare_variant_dict*>(made);
  delete made;
  return nullptr;
}
tare_variant_dict* tare_variant_dict_ref(tare_variant_dict* dict) {
  ++reinterpret_cast<HeapDict*>(dict)->references;
  return dict;
}
void tare_variant_dict_unref(tare_variant_dict* dict) {
  auto* made = reinterpret_cast<HeapDict*>(dict);
  if (made == nullptr || --made->references > 0) return;
  tare_variant_dict_clear(dict);
  delete made;
}

bool tare_variant_dict_contains(const tare_variant_dict* dict, const char* key) {
  return entries_of(dict) != nullptr && entries_of(dict)->find(key) != nullptr;
}

tare_variant* tare_variant_dict_lookup_value(const tare_variant_dict* dict, const char* key, const char* type) {
  tare_variant* value = entries_of(dict) == nullptr ? nullptr : entries_of(dict)->find(key);
  if (value == nullptr || (type != nullptr && !tare_variant_is_of_type(value, type))) return nullptr;
  return tare_variant_ref(value);
}

bool tare_variant_dict_lookup(const tare_variant_dict* dict, const char* key, const char* format, ...) {
  tare_variant* value = entries_of(dict) == nullptr ? nullptr : entries_of(dict)->find(key);
  if (value == nullptr) return false;
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_read = tare_variant_get_va(value, format, nullptr, &arguments.list);
  va_end(arguments.list);
  return is_read;
}

bool tare_variant_dict_insert_value(tare_variant_dict* dict, const char* key, tare_variant* value) {
  if (value == nullptr) return false;
  tare_variant_ref_sink(value);
  if (entries_of(dict) != nullptr && tare::variant::is_text(key)) return entries_of(dict)->put(key, value), true;
  tare_variant_unref(value);
  return false;
}

bool tare_variant_dict_insert(tare_variant_dict* dict, const char* key, const char* format, ...) {
  Arguments arguments;
  va_start(arguments.list, format);
  tare_variant* value = tare_variant_new_va(format, nullptr, &arguments.list);
  va_end(arguments.list);
  return tare_variant_dict_insert_value(dict, key, value);
}

bool tare_variant_dict_remove(tare_variant_dict* dict, const char* key) {
  Entries* entries = entries_of(dict);
  if (entries == nullptr || entries->find(key) == nullptr) return false;
  const auto found = entries->places.find(key);
  tare_variant_unref(std::exchange(entries->entries[found->second].value, nullptr));
  entries->places.erase(found);
  return true;
}

tare_variant* tare_variant_dict_end(tare_variant_dict* dict) {
  Entries* entries = entries_of(dict);
  Borrowed assembly;
  if (entries == nullptr || assembly.get() == nullptr || !assembly->begin("a{sv}", Text::Kept)) return nullptr;
  tare::variant::c::ArgumentHost host;
  for (const auto& entry : entries->entries) {
    if (entry.value == nullptr) continue;
    const auto write = [&](Builder& to) {
      return to.open_entry() && to.add_text(entry.key) && host.add_in_variant(to, entry.value) && to.close();
    };
    if (!assembly->add_accepted("{sv}", write)) return nullptr;
  }
  tare_variant* value = tare::variant::c::end(*assembly);
  if (value != nullptr) tare_variant_dict_clear(dict);
  return value;
}

void tare_variant_dict_clear(tare_variant_dict* dict) { delete std::exchange(entries_of(dict), nullptr); }

}  // extern "C"
