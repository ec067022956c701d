// Addresses as numbers: a pointer's, and the size of a page.
#pragma once

#include <cstdint>

#include "recorder/base/attributes.h"

namespace tare::recorder {

inline constexpr std::uint64_t kPage = 4096;  // or a part of a larger one

TARE_INLINE std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace tare::recorder
