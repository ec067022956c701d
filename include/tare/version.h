// tare/version.h: which version of the library was compiled against, and which is linked.
#pragma once

#include "tare/internal/export.h"

// The only place that states the version: CMake, the Python package and the man pages read these lines.
#define TARE_VERSION_MAJOR 0
#define TARE_VERSION_MINOR 1
#define TARE_VERSION_PATCH 0

// The inline namespace of all of the library, such as v0_1_0: copies of two versions in one process have no symbol in
// common. A shared library is named after major and minor version alone, and so is its namespace. Names in programs
// don't need it. `namespace tare { class Atom; }` would declare another class: see tare/forward/core.h.
#ifdef TARE_SHARED
#define TARE_ABI_OF(major, minor, patch) v##major##_##minor
#else
#define TARE_ABI_OF(major, minor, patch) v##major##_##minor##_##patch
#endif
#define TARE_ABI_FROM(major, minor, patch) TARE_ABI_OF(major, minor, patch)
#define TARE_ABI TARE_ABI_FROM(TARE_VERSION_MAJOR, TARE_VERSION_MINOR, TARE_VERSION_PATCH)

namespace tare::inline TARE_ABI {

// "0.1.0", of the library that is linked: it differs from the macros where a program runs with another shared library
// than it was compiled against. Static storage; any thread; never fails.
TARE_API const char* version() noexcept;

}  // namespace tare::inline TARE_ABI
