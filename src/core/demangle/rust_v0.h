// Rust's v0 mangling (RFC 2603): _R...
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tare::core {

// In Rust's syntax, without crate hashes and without the types of integer constants. nullopt: not a v0 name, or one
// that would recurse or grow without bound.
std::optional<std::string> demangle_rust_v0(std::string_view name);

}  // namespace tare::core
