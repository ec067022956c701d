// tare/version.h: which version of the library was compiled against, and which is linked.
#pragma once

#include "tare/internal/export.h"

// The only place that states the version: CMake, the Python package and the man pages read these lines.
#define TARE_VERSION_MAJOR 0
#define TARE_VERSION_MINOR 1
#define TARE_VERSION_PATCH 0

namespace tare {

// "0.1.0", of the library that is linked: it differs from the macros where a program runs with another shared library
// than it was compiled against. Static storage; any thread; never fails.
TARE_API const char* version() noexcept;

}  // namespace tare
