// A block that is live, with the facts that replay has.
#pragma once

#include <cstdint>

#include "trace/model/ids.h"

namespace tare::core {

struct LiveBlock {
  std::uint64_t address = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t usable_bytes = 0;
  trace::ShapeId shape = trace::kNoShape;
  std::uint32_t birth = 0;  // serial of the allocation modulo 2^32: distinguishes two blocks at one address
};

}  // namespace tare::core
