// Called by a release that leaves an atom without users.
#pragma once

#include "tare/internal/shared_header.h"

namespace tare::inline TARE_ABI {

// Counts for the atom's table, and now and then sweeps a shard of it. The block is only an address here: it may be
// freed by then. Weak, so that a program which uses Bytes and no atoms isn't linked with the table: there it is null,
// and no block is an atom's.
[[gnu::weak]] void count_unused_atom(const SharedHeader* block);

}  // namespace tare::inline TARE_ABI
