// Sums by the line that names a site, as summaries show them: an eighth of the rows of stacks.
#pragma once

#include "core/columns/tables.h"

namespace tare::core {

// Tables site_sizes, chains, written, recreated, call_costs, sites and stack_sites as if a stack were only its naming
// line: shapes of equal sizes and weight are added up, and each line is one stack and one site (those of the heaviest
// of its stacks at the peak, in total where the peak has none). Also folded_shapes: which shape became which. Also
// folded_shapes: the folded shape of each shape. Sums over the tables don't change. `sites` as SiteFinder makes them.
Tables fold_by_line(const Tables& replayed, const Tables& sites);

// Puts the folded shapes and their stacks in the place of those that the columns size_id and stack_id of `tables`
// name, also those with first_ and second_ before them.
void put_line_shapes(const Table& folded_shapes, const Table& folded_sizes, Tables& tables);

}  // namespace tare::core
