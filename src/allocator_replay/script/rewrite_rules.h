// What becomes of the calls of a recording if remedies were in the source: one rule for each shape of blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/ids.h"

namespace tare::core {

// Numbers as in python/tare/proofs/remedies.py.
enum class Remedy : std::uint8_t {
  None = 0,
  Resize = 1,  // blocks are requested with `bytes`
  Reuse =
      2,  // a thread keeps up to KeptBlocks::kMost freed blocks of the group, and reuses them if they are large enough
  Slabs = 3,  // blocks of the group lie side by side in slabs, without headers
};
inline constexpr std::uint64_t kLastRemedy = 3;

struct RewriteRule {
  Remedy remedy = Remedy::None;
  std::uint32_t group = 0;  // blocks of a group share slabs and kept blocks
  std::uint64_t bytes = 0;
};

struct RewriteRules {
  std::vector<RewriteRule> of_shape;  // shapes behind the last one have none

  const RewriteRule& of(trace::ShapeId shape) const {
    static constexpr RewriteRule kNone{};
    return trace::index(shape) < of_shape.size() ? of_shape[trace::index(shape)] : kNone;
  }
};

}  // namespace tare::core
