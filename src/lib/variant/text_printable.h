// Which characters are printed as they are, and which escaped.
#pragma once

#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

// True if Unicode 15.0 has a visible character or a space here: neither control nor format nor unassigned.
bool is_printable(char32_t character) noexcept;

}  // namespace tare::inline TARE_ABI::variant
