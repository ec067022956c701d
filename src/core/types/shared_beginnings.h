// C has no base classes: types that are used through pointers to each other begin with the same fields. These must
// stay.
#pragma once

#include <vector>

#include "core/types/type_layout.h"

namespace tare::core {

// Of structs of C whose proposed order moves a field that other types begin with, too, the order becomes the best one
// that keeps these fields, or none.
void keep_shared_beginnings(std::vector<TypeLayout>& layouts);

}  // namespace tare::core
