// Table `moment_shapes`: facts about live blocks, summed over blocks that lenses treat alike.
#pragma once

#include "core/columns/tables.h"

namespace tare::core {

// A row for each group of blocks of `moment_blocks` that have these columns in common: an interpreter's 300,000 blocks
// become some thousand rows. Columns:
//   moment, shape_id, stack_id, requested_bytes, usable_bytes, header_bytes
//   content_class, reachable, last_write_ns   as there
//   leak_stack_id    where the unreachable block was allocated that these hang on; null: no leaks
//   blocks           how many; multiplied by their weight, as are written_blocks and unwritten_bytes
//   leak_roots       of those, blocks that no other unreachable one leads to
//   copies           of those, blocks whose contents another one at the moment has, too; empty blocks, such that hold
//                    pointers into the heap or nothing but zeros, and such that couldn't be read have none
//   contents         different contents of these copies: each is 1 / blocks that have it
//   written_blocks   blocks of which something was ever written, as their high-water marks say
//   unwritten_bytes  of those, the bytes behind their marks
Table moment_shapes_table(const Table& moment_blocks);

}  // namespace tare::core
