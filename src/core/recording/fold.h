// Sums by the line that names a site, as summaries show them: an eighth of the rows of stacks. Or sums by site.
#pragma once

#include "core/columns/tables.h"

namespace tare::core {

// Tables site_sizes, chains, written, recreated, call_costs, failed_requests, sites and stack_sites as if a stack were
// only its naming line: shapes of equal sizes and weight are added up, and each line is one stack and one site (those
// of the heaviest of its stacks at the peak, in total where the peak has none). Also folded_shapes: the folded shape of
// each shape. Sums over the tables don't change. `sites` as SiteFinder makes them.
Tables fold_by_line(const Tables& replayed, const Tables& sites);

// site_sizes with one stack for each site: shapes of equal sizes and weight are added up. Stacks that grow blocks stay
// apart, because lenses join them with `growth`, and those with a large shape, because types are found for these: they
// are the rows of large_stacks. Also stack_sites without the stacks that no table names any more. For recordings of
// which no other table names shapes: their ids are new. In sizes_by_site.cc.
Tables fold_sizes_by_site(const Tables& replayed, const Tables& sites);

// Puts the folded shapes and their stacks in the place of those that the columns size_id and stack_id of `tables`
// name, also those with first_ and second_ before them.
void put_line_shapes(const Table& folded_shapes, const Table& folded_sizes, Tables& tables);

}  // namespace tare::core
