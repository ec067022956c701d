// Where the bases of cages are written. Elsewhere they're read as constants, see tare/internal/gc/cage_bases.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

using MutableCageBases = std::uintptr_t[1 + 16];  // the first is none

// The mangled name of tare::gc::cage_bases.
#define TARE_TEXT_OF(name) #name
#define TARE_TEXT(name) TARE_TEXT_OF(name)
#if TARE_VERSION_MAJOR > 9 || TARE_VERSION_MINOR > 9 || TARE_VERSION_PATCH > 9
#error "the mangled name begins with the length of TARE_ABI"
#elif defined(TARE_SHARED)
#define TARE_ABI_LENGTH "4"
#else
#define TARE_ABI_LENGTH "6"
#endif
extern TARE_API MutableCageBases
    mutable_cage_bases asm("_ZN4tare" TARE_ABI_LENGTH TARE_TEXT(TARE_ABI) "2gc10cage_basesE");

}  // namespace tare::inline TARE_ABI::gc
