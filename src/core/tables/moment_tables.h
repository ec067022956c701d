// Tables moments, moment_blocks and resident: what was seen of live blocks and of the process's memory, read from the
// trace without a walk over its events.
#pragma once

#include <vector>

#include "core/columns/tables.h"
#include "trace/base/result.h"
#include "trace/model/ids.h"
#include "trace/open/open_trace.h"

namespace tare::core {

// Damage ends them early and is the error; `tables` then holds what lies before it. Blocks that nothing points to are
// told as suppressed where their stack, or that of the block they hang on, is among `suppressed` (ascending).
Status make_moment_tables(const trace::OpenedTrace& trace, const std::vector<trace::StackId>& suppressed,
                          Tables& tables);

// Stacks of blocks that nothing points to at some moment, ascending.
Result<std::vector<trace::StackId>> leaking_stacks(const trace::OpenedTrace& trace);

}  // namespace tare::core
