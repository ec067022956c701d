// The meaning of paths: "a/b" lies below "a", and bytes below "explicit" are the program's memory.
#pragma once

#include <string_view>

#include "tare/memory_snapshot.h"

namespace tare::inline TARE_ABI {

inline constexpr std::string_view kExplicitRoot = "explicit";

inline bool is_at_or_below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

inline bool is_explicit(std::string_view path, ReportUnits units) {
  return units == ReportUnits::Bytes && is_at_or_below(path, kExplicitRoot);
}

}  // namespace tare::inline TARE_ABI
