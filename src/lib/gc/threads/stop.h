// Ends the program where it broke the collector's rules.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

[[noreturn, gnu::cold]] inline void stop(const char* what, const char* detail = "") noexcept {
  std::fprintf(stderr, "tare::gc: %s%s%s\n", what, *detail == '\0' ? "" : ": ", detail);
  std::abort();
}

}  // namespace tare::inline TARE_ABI::gc
