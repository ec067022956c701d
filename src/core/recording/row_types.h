// What the code at a recording's return addresses has pointers to: asked a module at a time, like names.
#pragma once

#include <span>
#include <vector>

#include "core/layout/pointed_types.h"
#include "trace/dictionary.h"

namespace tare::core {

// found[i] is of rows[i]; empty for rows that don't exist and for modules without debug information of their build.
std::vector<std::vector<PointedType>> row_types(const trace::Dictionary& dictionary,
                                                std::span<const trace::RowId> rows);

}  // namespace tare::core
