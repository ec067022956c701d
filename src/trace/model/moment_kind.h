// Why a snapshot was taken.
#pragma once

#include <cstdint>

namespace tare::trace {

enum class MomentKind : std::uint8_t { Exit = 1, Peak = 2, Request = 3 };

}  // namespace tare::trace
