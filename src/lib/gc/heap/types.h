// All types that have objects, by number.
#pragma once

#include <array>
#include <cstdint>

#include "lib/gc/threads/locks.h"
#include "tare/internal/gc/type_info.h"

namespace tare::inline TARE_ABI::gc {

extern TARE_STATE constinit std::array<TypeInfo, kMostTypes> types_by_index;
extern TARE_STATE constinit std::uint32_t type_count
    TARE_GUARDED_BY(locks().types);  // number 0, which is no type, included

}  // namespace tare::inline TARE_ABI::gc
