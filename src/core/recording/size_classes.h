// Table `size_classes`: the requested sizes of a recording, as an allocator's model serves them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/columns/tables.h"
#include "tare/size_classes.h"
#include "trace/base/result.h"

namespace tare::core {

// The model of the recorded allocator: among the models with its name, the one that agrees with most measured sizes.
// Null where none fits half of the blocks.
const SizeModel* model_of(const Tables& tables);

// One row a requested size of site_sizes. `model_name` empty: model_of(); without one the table is empty. Usage for a
// name that no model has.
Result<Table> size_classes_table(const Tables& tables, std::string_view model_name);

// The same table for these requested sizes; empty if `model` is null.
Table size_classes_of(std::vector<std::int64_t> requested, const SizeModel* model);

}  // namespace tare::core
