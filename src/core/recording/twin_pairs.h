// Table `twins` with what a pair takes as two blocks, and what it would take as one.
#pragma once

#include "core/columns/tables.h"
#include "tare/size_classes.h"

namespace tare::core {

// `twins` as Twins makes it, `site_sizes` with the shapes that it names. Adds, in bytes a pair: apart_gross_bytes (both
// blocks and their headers), joined_bytes (requested: the first, padded to 8, and the second behind it) and
// joined_gross_bytes (what that takes by the allocator's model; null without a model).
Table twin_pairs_table(Table twins, const Table& site_sizes, const SizeModel* model);

}  // namespace tare::core
