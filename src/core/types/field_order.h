// Looks for an order of fields that makes a type smaller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types/placement.h"

namespace tare::core {

struct ProposedOrder {
  std::uint64_t size_bytes = 0;
  std::vector<std::uint32_t> order;  // of all parts; empty: none is smaller than the order as it is
};

// The smallest size found, with as few fields moved as reach it: people choose orders for reasons, and a diff of one
// line is made where one of twenty isn't. Parts of Place::First and Last stay, and bit-fields that follow each other
// move together, since others may use their words as a whole.
ProposedOrder propose_order(std::span<const Part> parts, const Surroundings& around);

}  // namespace tare::core
