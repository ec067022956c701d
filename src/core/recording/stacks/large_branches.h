// The branches of a tree of frames that have a share of the whole, without the tree: most nodes of a compiler's million
// are below any share that a reader sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recording/stacks/frame_tree.h"
#include "trace/model/ids.h"

namespace tare::core {

struct Branch {
  std::int64_t amount = 0;  // with all below
  std::int64_t small_amount = 0;
  std::uint32_t parent = 0;  // its place in the list
  std::uint32_t frame = 0;
  std::uint32_t small_branches = 0;  // below it, each with less than `least`
  std::uint32_t unused = 0;
};

// Of the tree that `names` would be if the stacks were added in their order, the innermost frames at its root: the
// root, and each node with at least `least`, parents first, the children of one parent in the order of their nodes.
// Amounts aren't negative.
std::vector<Branch> large_branches(const FrameTree& names, std::span<const trace::StackId> stacks,
                                   std::span<const std::int64_t> amounts, std::int64_t least);

}  // namespace tare::core
