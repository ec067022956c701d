// GLib's text format beside ours: the same text for a value, the same value or the same message for a text.
#pragma once

#include <glib.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/variant/glib_peer.h"
#include "tare/variant/text.h"

namespace tare::testing {

struct FreeText {
  void operator()(char* text) const { g_free(text); }
};
using GlibText = std::unique_ptr<char, FreeText>;

// Why both print `value` differently; empty if they don't.
inline std::string print_difference(GVariant* value) {
  const variant::View view(variant::Type::trusted(g_variant_get_type_string(value)), bytes_of(value));
  variant::Output out;
  for (const bool is_annotated : {false, true}) {
    const GlibText theirs(g_variant_print(value, is_annotated));
    const auto ours =
        print(out, view, is_annotated ? variant::TypeAnnotations::Print : variant::TypeAnnotations::Omit).bytes();
    if (ours != theirs.get()) return std::string(theirs.get()) + "\nis printed as\n" + std::string(ours);
  }
  return {};
}

// Why both parse `text` differently; empty if they don't.
inline std::string parse_difference(const std::string& text, const char* type = nullptr) {
  GError* error = nullptr;
  const char* rest = nullptr;
  const bool takes_rest = text.size() % 2 != 0;
  const GlibValue theirs(g_variant_parse(type == nullptr ? nullptr : G_VARIANT_TYPE(type), text.c_str(), nullptr,
                                         takes_rest ? &rest : nullptr, &error));
  variant::Output out;
  std::optional<variant::Type> wanted;
  if (type != nullptr) wanted = variant::Type::trusted(type);
  const variant::ParsedText ours =
      parse(out, text, wanted, takes_rest ? variant::Rest::Ignored : variant::Rest::Refused);
  std::string difference;
  if (theirs == nullptr) {
    if (ours) {
      difference = "GLib refuses it: " + std::string(error != nullptr ? error->message : "a bug of the caller's");
    } else if (error == nullptr) {
      if (ours.error().reason != variant::TextError::Unwritable)
        difference = "GLib can't write it: " + ours.error().line();
    } else if (error->code == G_VARIANT_PARSE_ERROR_RECURSION) {
      // GLib computes the place from a null pointer
      if (!std::string_view(error->message).ends_with(ours.error().message)) difference = ours.error().line();
    } else if (ours.error().line() != error->message) {
      difference = std::string(error->message) + "\nis reported as\n" + ours.error().line();
    } else {
      const GlibText context(g_variant_parse_error_print_context(error, text.c_str()));
      if (ours.error().context(text) != context.get()) {
        difference = std::string(context.get()) + "is shown as\n" + ours.error().context(text);
      }
    }
  } else if (!ours) {
    difference = "is refused: " + ours.error().line();
  } else if (ours.type().text() != type_of(theirs.get())) {
    difference = "type " + std::string(type_of(theirs.get())) + " is " + std::string(ours.type().text());
  } else if (ours.bytes() != bytes_of(theirs.get())) {
    difference = "other bytes";
  } else if (takes_rest && ours.end() != static_cast<std::size_t>(rest - text.c_str())) {
    difference = "ends at another place";
  } else {
    difference = print_difference(theirs.get());
  }
  g_clear_error(&error);
  return difference.empty() ? difference : text + ": " + difference;
}

}  // namespace tare::testing
