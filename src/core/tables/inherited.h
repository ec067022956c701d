// Blocks older than a trace's first event: inherited at a fork and found by replaying the parent's trace up to the
// fork, or stored at the beginning of a segment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/live_set.h"
#include "trace/open/open_trace.h"

namespace tare::core {

// Nothing for the first segment of a process that wasn't forked. The parent's trace is expected beside `path`. If it is
// missing or damaged, the result is empty too, and a line in `warnings` states the effect on the figures.
std::optional<LiveSet> inherited_blocks(const std::string& path, const trace::OpenedTrace& opened,
                                        const trace::ReplayProgress& progress, std::vector<std::string>& warnings);

}  // namespace tare::core
