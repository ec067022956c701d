// Bytes in tests: text with zeros in it.
#pragma once

#include <cstddef>
#include <string_view>

namespace tare::testing {

// "a\0b"_b has 3 bytes.
constexpr std::string_view operator""_b(const char* text, std::size_t size) { return {text, size}; }

}  // namespace tare::testing
