// The tables that this process has just made, for who reads them next in it.
//
// `tare run` makes the tables of what it recorded and stores them beside the trace; its own summary then needs them at
// once. Reading a compiler's 28 MB back cost 65 of the summary's 380 ms, nearly all of it page faults.
#pragma once

#include <memory>
#include <string>

#include "core/columns/tables.h"

namespace tare::core::fresh_tables {

// Keeps the tables of the trace at `path` if they are larger than those kept already: a summary is about one image, as
// a rule the largest. Any thread.
void keep(const std::string& path, std::shared_ptr<const Tables> tables);

// What was kept for `path`, which is then forgotten; null if it was another's or nothing. Any thread.
std::shared_ptr<const Tables> take(const std::string& path);

}  // namespace tare::core::fresh_tables
