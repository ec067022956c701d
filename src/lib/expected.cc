#include "tare/expected.h"

#include <cstdio>
#include <cstdlib>

namespace tare::inline TARE_ABI {

void stop_without_value(const char* reason) noexcept {
  std::fprintf(stderr, "tare: value() of a result that has none: %s\n", reason);
  std::abort();
}

}  // namespace tare::inline TARE_ABI
