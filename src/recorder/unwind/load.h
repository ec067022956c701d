// Reads a word of another function's frame.
#pragma once

#include "recorder/arch/arch.h"

namespace tare::recorder {

using arch::load;

}  // namespace tare::recorder
