// All types that have objects, by number.
#pragma once

#include <array>

#include "tare/gc/type_info.h"

namespace tare::gc {

extern constinit std::array<TypeInfo, kMostTypes> types_by_index;

}  // namespace tare::gc
