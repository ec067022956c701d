// Values and builders among a call's arguments: added to the value being written, and freed or returned at the end.
#pragma once

#include <glib.h>

#include <string_view>
#include <vector>

#include "gvariant/builders.h"
#include "lib/variant/c/formats.h"

namespace tare::gvariant {

class GlibHost {
 public:
  GlibHost() noexcept = default;
  GlibHost(const GlibHost&) = delete;
  GlibHost& operator=(const GlibHost&) = delete;

  bool is_trusted() const noexcept { return is_trusted_; }

  // ---- for FormatWriter
  bool add(Builder& to, void* value, std::string_view type) noexcept;
  bool add_in_variant(Builder& to, void* value) noexcept;
  bool add_built(Builder& to, void* builder, std::string_view type) noexcept;
  // ---- for skip_arguments
  static std::string_view type_of_value(void*) noexcept { return "*"; }
  static std::string_view type_of_builder(void*) noexcept { return "a*"; }
  void see_builder(void* builder) noexcept { hand_over(static_cast<GVariantBuilder*>(builder)); }

  // All went well: floating values and builders end, as GLib would have it.
  void commit() noexcept;
  // It didn't: the call goes to GLib, with values as they were and builders of GLib's own.
  void roll_back() noexcept;

 private:
  struct Taken {
    GVariant* value;
    GVariantBuilder* builder;  // null: the value was an argument
  };
  void take(GVariant* value, GVariantBuilder* builder) {
    if (count_ < kOwn) {
      own_[count_++] = {value, builder};
    } else {
      more_.push_back({value, builder});
    }
  }
  template <typename Act>
  void for_each(Act act) {
    for (std::size_t i = 0; i < count_; ++i) act(own_[i]);
    for (Taken& taken : more_) act(taken);
  }

  static constexpr std::size_t kOwn = 16;
  bool is_trusted_ = true;
  std::size_t count_ = 0;
  Taken own_[kOwn];
  std::vector<Taken> more_;
};

// Hands all builders among a format's arguments over to GLib.
void hand_over_builders(const char* format, va_list* arguments) noexcept;
// The same for a text with formats in it.
void hand_over_parsed_builders(const char* text, va_list* arguments) noexcept;

}  // namespace tare::gvariant
