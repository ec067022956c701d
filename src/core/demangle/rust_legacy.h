// Rust's first mangling, _ZN...17h<16 hex digits>E: C++'s shape with its own escapes and a hash at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tare::core {

// Without the hash. nullopt: it isn't one.
std::optional<std::string> demangle_rust_legacy(std::string_view name);

}  // namespace tare::core
