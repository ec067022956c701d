// Assemblies for builders, some kept by each thread: an Assembly is 16 KB with its first output.
#pragma once

#include <cstddef>

#include "lib/variant/c/assembly.h"

namespace tare::inline TARE_ABI::variant::c {

// One that isn't begun; null without memory. Any thread may give it back.
Assembly* take_assembly() noexcept;
void give_assembly(Assembly* assembly) noexcept;

}  // namespace tare::inline TARE_ABI::variant::c
