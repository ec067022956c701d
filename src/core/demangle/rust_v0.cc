// Recognises v0 names; the grammar is in rust_v0_demangler.h.
#include "core/demangle/rust_v0.h"

#include "core/demangle/rust_v0_demangler.h"

namespace tare::core {

std::optional<std::string> demangle_rust_v0(std::string_view name) {
  if (!name.starts_with("_R")) return std::nullopt;
  name.remove_prefix(2);
  for (const char c : name) {
    if (!is_digit(c) && !is_upper(c) && !is_lower(c) && c != '_') return std::nullopt;
  }
  return RustV0Demangler(name).run();
}

}  // namespace tare::core
