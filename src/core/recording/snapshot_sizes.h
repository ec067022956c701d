// Table `snapshot_sizes`: facts about live blocks, summed over blocks that lenses treat alike.
#pragma once

#include "core/columns/tables.h"

namespace tare::core {

// A row for each group of blocks of `snapshot_blocks` that have the same snapshot, kind, contents, reachability, time
// of the last write and leaking stack: an interpreter's 300,000 blocks become some thousand rows.
// columns/schema/snapshots.def has the meanings of the columns. Empty blocks, blocks of pointers into the heap or of
// zeros, and blocks that couldn't be read have no copies.
Table snapshot_sizes_table(const Table& snapshot_blocks);

}  // namespace tare::core
