// Table `written` with facts about a whole site: a block is too large for its site only if no block there was written
// further.
#pragma once

#include "core/columns/tables.h"

namespace tare::core {

// `replayed` has written and site_sizes, `sites` has stack_sites. Adds to written, of all blocks of the row's site that
// ended: site_blocks how many, site_high_water_bytes the greatest mark, site_requested_bytes the smallest request.
Table written_at_sites(const Tables& replayed, const Tables& sites);

}  // namespace tare::core
