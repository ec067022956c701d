// Functions of musl that call others by their public names, which would lead back into the hooks: one block, two
// events.
#pragma once

#include "recorder/hooks/real.h"

namespace tare::recorder {

// Replaces those in `functions` by equals that call malloc or aligned_alloc of musl itself, and adds those that musl
// lacks.
void use_musl_functions(RealFunctions& functions);

}  // namespace tare::recorder
