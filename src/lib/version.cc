// The linked library's version, as CMake's project() has it.
#include "tare/version.h"

namespace tare::inline TARE_ABI {

const char* version() noexcept { return TARE_VERSION_STRING; }

}  // namespace tare::inline TARE_ABI
