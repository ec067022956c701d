// The blocks that malloc gave an atom table.
#pragma once

#include "tare/atom_table.h"

namespace tare::inline TARE_ABI {

// Calls visit for each: the table's own, and small hash tables. Locks one shard at a time.
void visit_malloced(AtomTable::Books& books, void (*visit)(void* context, const void* block), void* context);

}  // namespace tare::inline TARE_ABI
