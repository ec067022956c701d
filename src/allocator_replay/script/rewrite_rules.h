// The calls of a recording as they would be with remedies in the source: one rule for each shape of blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/ids.h"

namespace tare::core {

// Numbers as in python/tare/proofs/remedies.py.
enum class Remedy : std::uint8_t {
  None = 0,
  // Blocks are requested with `bytes`.
  Resize = 1,
  // A thread keeps up to KeptBlocks::kMost freed blocks of the group, and reuses them if they are large enough.
  Reuse = 2,
  // Blocks of the group lie side by side in slabs, without headers.
  Slabs = 3,
  // A block that grows by realloc, or by malloc, copy and free, doubles its room; with `more` it uses its whole block.
  Grow = 4,
  // Blocks are requested as far as they were written, at least with `bytes` (0: those that were never written aren't
  // made); blocks that never end are requested with `more` (0: as recorded).
  Trim = 5,
  // `share` of the blocks isn't made; the others have `bytes` more, for the table that finds them.
  Share = 6,
  // A block of the group has room for the Second that the same thread allocates next.
  First = 7,
  Second = 8,
  // `share` of the blocks that are never freed is freed when it was allocated.
  FreeAtOnce = 9,
  // `share` of the blocks that live at `more` nanoseconds is freed then.
  FreeAt = 10,
};
inline constexpr std::uint64_t kLastRemedy = 10;

struct RewriteRule {
  Remedy remedy = Remedy::None;
  std::uint32_t group = 0;  // blocks of a group share slabs, kept blocks, or are halves of each other
  std::uint64_t bytes = 0;
  std::uint64_t more = 0;
  double share = 0;
};

struct RewriteRules {
  std::vector<RewriteRule> of_shape;  // shapes behind the last one have none

  const RewriteRule& of(trace::ShapeId shape) const {
    static constexpr RewriteRule kNone{};
    return trace::index(shape) < of_shape.size() ? of_shape[trace::index(shape)] : kNone;
  }
};

}  // namespace tare::core
