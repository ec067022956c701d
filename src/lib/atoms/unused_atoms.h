// Where a release tells that an atom has no user left.
#pragma once

#include "tare/shared_header.h"

namespace tare {

// Counts for the atom's table, and now and then sweeps a shard of it. The block is only an address here: it may be
// freed by then.
void count_unused_atom(const SharedHeader* block);

}  // namespace tare
