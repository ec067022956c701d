// Identifiers beyond ASCII in Rust v0 names: Punycode (RFC 3492) with '_' as delimiter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tare::core {

// UTF-8, or nullopt if `encoded` isn't valid.
std::optional<std::string> decode_punycode(std::string_view encoded);

}  // namespace tare::core
