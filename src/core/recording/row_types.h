// The types that the code at a recording's return addresses has pointers to, searched a module at a time, like names.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "core/allocated_types/pointed_types.h"
#include "trace/model/dictionary.h"

namespace tare::core {

// found[i] is of rows[i]; empty for rows that don't exist and for modules without debug information of their build.
// Results for builds with an id are stored in `cache_dir` (empty: nowhere), and read from there first.
std::vector<std::vector<PointedType>> row_types(const trace::Dictionary& dictionary, std::span<const trace::RowId> rows,
                                                const std::filesystem::path& cache_dir);

}  // namespace tare::core
