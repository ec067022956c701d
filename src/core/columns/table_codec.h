// Tables as bytes and back. Integers take as many bytes as the column's range needs; a constant column takes none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/columns/tables.h"

namespace tare::core {

std::vector<std::uint8_t> encode_tables(const Tables& tables);

// Nothing where the bytes are no tables. Never trusts a count: memory stays proportional to the bytes.
std::optional<Tables> decode_tables(std::span<const std::uint8_t> bytes);

}  // namespace tare::core
