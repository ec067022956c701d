// Finishes a trace whose launcher was killed: moves the program's last events from the spool in memory into the file.
#pragma once

#include <string>

#include "trace/base/result.h"

namespace tare::trace {

enum class Leftover {
  None,      // the trace is finished, or nothing of its spool is left, or it can't be joined
  InUse,     // launcher or program still live (or another reader is at it)
  Finished,  // the trace has an end now, and the spool is gone
};

// Where the file can't be written (read-only, disk full) it's left as it was, and so is the spool: open_trace joins
// both.
Result<Leftover> finish_leftover(const std::string& path);

// A launcher that lives holds a lock on the control file beside its spools.
bool launcher_lives(const std::string& spool_path);

}  // namespace tare::trace
