// Tables moments and moment_blocks: what was seen of live blocks, read from the trace without a walk over its events.
#pragma once

#include "core/replay/tables.h"
#include "trace/open_trace.h"
#include "trace/result.h"

namespace tare::core {

// Damage ends them early and is the error; `tables` then holds what lies before it.
Status make_moment_tables(const trace::OpenedTrace& trace, Tables& tables);

}  // namespace tare::core
