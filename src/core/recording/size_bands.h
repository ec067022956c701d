// site_sizes for the screen that ends a run: sizes that no finding would name are joined into bands.
//
// A program that reads files or packs objects requests nearly every size: of git's 34,900 pairs of line and size 190
// are left, and a compiler's 14,500 become 3,700. The summary then costs as much as a small program's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns/tables.h"
#include "tare/size_classes.h"

namespace tare::core {

// `sizes` is fold_by_line()'s. For each line, the sums of blocks, of requested, usable and gross bytes stay the same at
// the peak, at the end and in total, to the rounding of a double. So do the rows that a finding may name: a line's size
// of most blocks, of most slop, its largest one, and all clownshoes of `model` (null: none is known).
//
// A band has blocks of only one of these three moments, and the mean of their sizes (so requested_bytes and
// usable_bytes become Double). It has sizes of one 16-byte step up to 64 bytes, or larger ones; all of them have slop
// or none. It stays below its line's greatest in blocks and in slop, so that a maximum finds a size that there was.
// Lifetimes and byte_ns go with the total. Not for tables that name shapes: their ids are new.
Table join_sizes(const Table& sizes, const SizeModel* model);

// The sizes of a joined table that were requested, without means and without pools' own.
std::vector<std::int64_t> whole_sizes(const Table& joined);

}  // namespace tare::core
