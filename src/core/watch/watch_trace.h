// Writes a trace from a watch file: its live samples as allocations of weighted blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trace/base/result.h"

namespace tare::core {

// An ordinary recording of the process up to the file's last event. It has no frees and no calls of blocks that are
// freed: the watch file has only their sums.
Status write_watch_trace(const std::string& watch_file, const std::string& output);

}  // namespace tare::core
