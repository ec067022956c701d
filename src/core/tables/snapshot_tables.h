// Tables snapshots, snapshot_blocks and resident: facts about live blocks and about the process's memory, read from the
// trace without a walk over its events.
#pragma once

#include <vector>

#include "core/columns/tables.h"
#include "trace/base/result.h"
#include "trace/model/ids.h"
#include "trace/open/open_trace.h"

namespace tare::core {

// In a damaged trace, `tables` has the snapshots before the damage, and the result is the error. Unreachable blocks get
// `suppressed` if their stack, or the stack of the block that they hang on, is in `suppressed` (ascending).
Status make_snapshot_tables(const trace::OpenedTrace& trace, const std::vector<trace::StackId>& suppressed,
                            Tables& tables);

// Stacks of blocks that nothing points to in some snapshot, ascending.
Result<std::vector<trace::StackId>> leaking_stacks(const trace::OpenedTrace& trace);

}  // namespace tare::core
