// Where the bases of cages are written. Elsewhere they're read as constants, see tare/internal/gc/cage_bases.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"

namespace tare::gc {

using MutableCageBases = std::uintptr_t[1 + 16];  // the first is none

extern TARE_API MutableCageBases mutable_cage_bases asm("_ZN4tare2gc10cage_basesE");  // tare::gc::cage_bases

}  // namespace tare::gc
