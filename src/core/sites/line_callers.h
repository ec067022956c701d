// The callers of lines that name sites: if a line copies or allocates for others, the change belongs there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/columns/tables.h"
#include "trace/model/ids.h"

namespace tare::core {

// Sums of site_sizes over the stacks in which a location calls a line.
struct LineCaller {
  trace::RowId line;
  std::optional<trace::RowId> caller;  // nothing: the line ends the stack
  double peak_bytes;                   // gross
  double total_blocks;

  bool operator==(const LineCaller&) const = default;
};

// Of each of `lines`, in the order of lines and callers. The caller of a line of Python is the next line of Python: the
// frames between them are the interpreter's. `sites` as SiteFinder makes them.
std::vector<LineCaller> line_callers(const Tables& replayed, const Tables& sites, std::span<const trace::RowId> lines);

}  // namespace tare::core
