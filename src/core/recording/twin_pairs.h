// Table `twins` with the bytes of a pair as two blocks and as one.
#pragma once

#include "core/columns/tables.h"
#include "tare/size_classes.h"

namespace tare::core {

// `twins` as Twins makes it, `site_sizes` with the shapes that it names. Adds, in bytes for each pair:
// apart_gross_bytes (both blocks and their headers), joined_bytes (requested: the first, padded to 8, and the second
// behind it) and joined_gross_bytes (as the allocator's model serves joined_bytes; null without a model).
Table twin_pairs_table(Table twins, const Table& site_sizes, const SizeModel* model);

}  // namespace tare::core
