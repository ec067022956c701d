// The sums of each stack over its shapes: what most exports need of table site_sizes. In SQL, loading the table and
// adding it up took a third of the export of a recording with a million shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/columns/tables.h"

namespace tare::core {

// By stack, ascending. Bytes are gross bytes: usable bytes and headers.
struct StackSums {
  std::vector<std::int64_t> stack_ids, total_blocks, total_bytes, live_blocks, live_bytes, end_blocks, end_bytes;
  std::vector<std::int64_t> lifetimes_ns;  // if requested; rounded for each usable size
};

// `live`: the column of blocks in use. Nothing if a block stands for others, as in a sample: their sums are rounded by
// size and thread.
std::optional<StackSums> sums_by_stack(const Table& site_sizes, std::string_view live, bool with_lifetimes);

}  // namespace tare::core
