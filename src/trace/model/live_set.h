// The blocks that were live at one instant, with their dictionary: a forked child inherits such a set, and a segment
// begins with one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/dictionary.h"
#include "trace/model/ids.h"

namespace tare::trace {

// Self-contained: ids refer to its own dictionary, not to that of the trace it was taken from.
struct LiveSet {
  struct Block {
    std::uint64_t address;
    ShapeId shape;
  };
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
  };
  Dictionary dictionary;
  std::vector<Block> blocks;
  std::vector<Range> mappings;  // that the program had made, disjoint; a forked child's aren't known
};

}  // namespace tare::trace
