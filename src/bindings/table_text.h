// A table as comma-separated text in a memory file: the way into DuckDB for small tables, because the engine reads it
// without the 47 ms of Python imports that its Arrow scan needs.
#pragma once

#include "core/columns/tables.h"
#include "trace/base/result.h"

namespace tare::bindings {

// Text without header; nulls are empty and unquoted, words always quoted. Returns the descriptor of a memfd, to be
// closed by the caller; /proc/self/fd/N is its path.
Result<int> write_text(const core::Table& table);

}  // namespace tare::bindings
