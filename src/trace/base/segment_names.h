// Names of the files that a recording is cut into: F is the latest, F.s1, F.s2 ... are those before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tare::trace {

// Where the segment lies once there is a later one.
inline std::string segment_path(const std::string& base, std::uint32_t number) {
  return base + ".s" + std::to_string(number);
}

// The name without the number of a segment, if it has one.
inline std::string segment_base(const std::string& path) {
  std::size_t digits = path.size();
  while (digits > 0 && path[digits - 1] >= '0' && path[digits - 1] <= '9') --digits;
  const bool is_segment = digits < path.size() && digits > 2 && path.compare(digits - 2, 2, ".s") == 0;
  return is_segment ? path.substr(0, digits - 2) : path;
}

}  // namespace tare::trace
