// What lived before a trace's first event: what a forked process had from its parent, found by replaying the parent's
// trace up to the fork, or what a segment begins with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/live_set.h"
#include "trace/open/open_trace.h"

namespace tare::core {

// Nothing for the first segment of a process that wasn't forked. The parent's trace is looked for beside `path`; if it
// is missing or damaged, nothing too, and a line in `warnings` says what that does to the figures.
std::optional<LiveSet> inherited_blocks(const std::string& path, const trace::OpenedTrace& opened,
                                        const trace::ReplayProgress& progress, std::vector<std::string>& warnings);

}  // namespace tare::core
