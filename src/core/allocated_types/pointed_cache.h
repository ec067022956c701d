// What code has pointers to, as it was found before: one file a build id, so that a second report opens no DWARF.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocated_types/pointed_types.h"

namespace tare::core {

// By address in the file's own terms; an address without types was asked for and has none.
using PointedByAddress = std::map<std::uint64_t, std::vector<PointedType>>;

// A file's bytes. `fingerprint` says which files the types came from; a cache of other ones counts as absent, as does a
// damaged one.
std::string encode_pointed(std::string_view fingerprint, const PointedByAddress& pointed);
std::optional<PointedByAddress> decode_pointed(std::string_view fingerprint, std::string_view file);

}  // namespace tare::core
