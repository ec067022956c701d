// C++ names made readable within bounds: any bytes as a mangled name cost little memory and time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tare::core {

// No name of a real program comes near it.
inline constexpr std::size_t kMostReadableBytes = 64 << 10;

// Empty: not a C++ name, or one that takes more than kMostReadableBytes or some time to be read.
std::optional<std::string> demangle_cxx(const std::string& name);

}  // namespace tare::core
