// Turns a recording into a call script: see call_script.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trace/base/result.h"
#include "trace/model/process_info.h"
#include "trace/open/open_trace.h"

namespace tare::core {

struct ScriptSummary {
  std::uint64_t steps = 0;
  std::uint64_t threads = 0;
  std::uint64_t slots = 0;
  std::uint64_t peak_requested_bytes = 0;
  std::uint64_t duration_ns = 0;
  // What the script leaves out, so that a reader can judge it:
  std::uint64_t foreign_frees = 0;  // of blocks whose birth wasn't recorded
  std::uint64_t reborn_blocks = 0;  // born where another was thought to live
  // Of the recording: who performs the calls need not replay it for its allocator and its peak RSS.
  trace::ProcessInfo process;
};

// Writes the calls of `trace` to `path`. A sampled recording, or one without calls, is refused (Usage). The file is
// about 16 bytes a call; a full disk gives Io, and the file is removed.
Result<ScriptSummary> write_call_script(const trace::OpenedTrace& trace, const std::string& path,
                                        const trace::ReplayProgress& progress = {});

}  // namespace tare::core
