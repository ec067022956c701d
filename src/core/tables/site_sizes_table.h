// Table `site_sizes`: the blocks of each shape.
#pragma once

#include <vector>

#include "core/analysis/replay_engine.h"
#include "core/columns/tables.h"
#include "core/tables/mode_sums.h"
#include "trace/model/process_info.h"

namespace tare::core {

// `engine` has finished. `stack_of` gives the number of an inherited stack in the united dictionary. Adds to `totals`.
Table site_sizes_table(const ReplayEngine& engine, const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                       const std::vector<trace::StackId>& stack_of, double ns_per_tick, Totals& totals);

}  // namespace tare::core
