// Cache of the types that code has pointers to: one file for each build id, so that a second report opens no DWARF.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocated_types/pointed_types.h"

namespace tare::core {

// By address in the file's own terms. An address without types has an empty list, so that it isn't searched again.
using PointedByAddress = std::map<std::uint64_t, std::vector<PointedType>>;

// A file's bytes. `fingerprint` identifies the files that the types came from. A cache of other files, and a damaged
// one, count as absent.
std::string encode_pointed(std::string_view fingerprint, const PointedByAddress& pointed);
std::optional<PointedByAddress> decode_pointed(std::string_view fingerprint, std::string_view file);

}  // namespace tare::core
