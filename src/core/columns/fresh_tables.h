// Hands over the tables that this process has made to the reader that needs them next.
//
// `tare run` makes the tables of its recording and stores them beside the trace; its own summary then needs them at
// once. Reading a compiler's 28 MB back cost 65 of the summary's 380 ms, nearly all of it page faults.
#pragma once

#include <memory>
#include <string>

#include "core/columns/tables.h"

namespace tare::core::fresh_tables {

// Keeps the tables of the trace at `path` if they are larger than those kept already: a summary is about one image, as
// a rule the largest. Any thread.
void keep(const std::string& path, std::shared_ptr<const Tables> tables);

// Returns and forgets the tables kept for `path`; null if there are none. Any thread.
std::shared_ptr<const Tables> take(const std::string& path);

}  // namespace tare::core::fresh_tables
