// Turns a recording into call scripts: see call_script.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "allocator_replay/script/rewrite_rules.h"
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
  std::uint64_t calls = 0;             // of the allocator; a realloc is one call and two steps
  std::uint64_t rewritten_blocks = 0;  // that a rule is about
  // Of blocks that took over by malloc, copy and free, at stacks with Remedy::Grow; no step performs these copies.
  std::uint64_t recorded_hand_copies = 0;  // bytes
  std::uint64_t hand_copies = 0;           // bytes that are still to be copied
  // Events that the script leaves out, so that a reader can judge it:
  std::uint64_t foreign_frees = 0;  // of blocks whose allocation wasn't recorded
  std::uint64_t reborn_blocks = 0;  // born where another was thought to live
  // Of the recording: the performer needs no replay for its allocator and its peak RSS.
  trace::ProcessInfo process;
};

struct ScriptRequest {
  std::string path;
  RewriteRules rules;
};

// Writes the calls of `trace` into the files, as each file's rules change them; the trace is read once. A sampled
// recording, or one without calls, is refused (Usage). A file is about 16 bytes a call; a full disk gives Io, and the
// files are removed.
Result<std::vector<ScriptSummary>> write_call_scripts(const trace::OpenedTrace& trace,
                                                      std::span<const ScriptRequest> requests,
                                                      const trace::ReplayProgress& progress = {});

// The same for one file, without rules.
Result<ScriptSummary> write_call_script(const trace::OpenedTrace& trace, const std::string& path,
                                        const trace::ReplayProgress& progress = {});

}  // namespace tare::core
