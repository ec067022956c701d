#include "tare/expected.h"

#include <cstdio>
#include <cstdlib>

namespace tare {

void stop_without_value(const char* reason) noexcept {
  std::fprintf(stderr, "tare: value() of a result that has none: %s\n", reason);
  std::abort();
}

}  // namespace tare
