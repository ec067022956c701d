// Values of tare/variant/c.h added to an Assembly, and made of one.
#pragma once

#include <cstring>
#include <string_view>

#include "lib/variant/c/assembly_pool.h"
#include "lib/variant/c/formats.h"
#include "lib/variant/c/value.h"

namespace tare::inline TARE_ABI::variant::c {

// An Assembly of the thread, returned at the end.
class Borrowed {
 public:
  Borrowed() noexcept : assembly_(take_assembly()) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { give_assembly(assembly_); }
  Assembly* get() const noexcept { return assembly_; }
  Assembly* operator->() const noexcept { return assembly_; }
  Assembly& operator*() const noexcept { return *assembly_; }

 private:
  Assembly* assembly_;
};

// Copies a value that is known to be in normal form; brings others into it.
inline bool add_value(Builder& to, const tare_variant& value) noexcept {
  if (!value.is_trusted) return to.add_view(view_of(value));
  char* place = nullptr;
  if (!to.add_room(value.size, place)) return false;
  if (value.size != 0) std::memcpy(place, value.data, value.size);
  return true;
}

inline bool add_value(Assembly& to, const tare_variant& value) noexcept {
  return to.add(type_of(value), [&](Builder& builder) { return add_value(builder, value); });
}

// The complete value, floating; null where it isn't complete.
inline tare_variant* end(Assembly& assembly) noexcept {
  const Written written = assembly.end();
  if (!written) return nullptr;
  tare_variant* value = make_value(assembly.type(), written.bytes(), Trust::NormalForm);
  if (value == nullptr) assembly.fail(WriteError::OutOfMemory);
  return value;
}

// A builder's Assembly; null for one that isn't initialized.
inline Assembly*& assembly_of(tare_variant_builder& builder) noexcept {
  return *reinterpret_cast<Assembly**>(&builder.private_[0]);
}

// Functions for a FormatWriter that handle the values and builders among a call's arguments.
struct ArgumentHost {
  static std::string_view type_of_value(void* value) noexcept { return type_of(*static_cast<tare_variant*>(value)); }
  static std::string_view type_of_builder(void* builder) noexcept {
    const Assembly* assembly = assembly_of(*static_cast<tare_variant_builder*>(builder));
    return assembly == nullptr ? std::string_view("()") : assembly->type();
  }

  static void see_builder(void*) noexcept {}

  bool add(Builder& to, void* value, std::string_view type) noexcept {
    if (value == nullptr) return to.fail(WriteError::WrongType);
    auto* added = static_cast<tare_variant*>(value);
    const bool is_added = to.wanted() == type_of(*added) && matches(type_of(*added), type) && add_value(to, *added);
    consume(added);
    return is_added || to.fail(WriteError::WrongType);
  }

  bool add_in_variant(Builder& to, void* value) noexcept {
    if (value == nullptr) return to.fail(WriteError::WrongType);
    auto* added = static_cast<tare_variant*>(value);
    const bool is_added = to.open_variant(Type::trusted(type_of(*added))) && add_value(to, *added) && to.close();
    consume(added);
    return is_added;
  }

  bool add_built(Builder& to, void* builder, std::string_view) noexcept {
    char* place = nullptr;
    if (builder == nullptr) return to.wanted().substr(0, 1) == "a" && to.open() && to.close();
    Assembly* assembly = assembly_of(*static_cast<tare_variant_builder*>(builder));
    if (assembly == nullptr || assembly->type() != to.wanted()) return to.fail(WriteError::WrongType);
    const Written written = assembly->end();
    if (!written) return to.fail(written.error());
    if (!to.add_room(written.size(), place)) return false;
    if (written.size() != 0) std::memcpy(place, written.data(), written.size());
    tare_variant_builder_clear(static_cast<tare_variant_builder*>(builder));
    return true;
  }
};

}  // namespace tare::inline TARE_ABI::variant::c
