// The spool that belongs to an unfinished trace, with the events that the trace doesn't have.
#pragma once

#include <string>

#include "trace/file/trace_reader.h"
#include "trace/open/spool_import.h"

namespace tare::trace {

// Path of the spool, or empty if it's gone.
std::string find_spool(const ProcessRecord& record);

// Imports the events that the trace doesn't have; dictionary and facts of the process in `index` grow with it.
// NotATrace where the spool is another process's.
Result<SpoolImport> import_joined(const std::string& spool_path, TraceIndex& index);

}  // namespace tare::trace
