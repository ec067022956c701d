// Which addresses are the recorder's own code.
#pragma once

#include <cstdint>

namespace tare::recorder {

// Async-signal-safe; from any thread.
bool is_own_code(std::uint64_t pc);

}  // namespace tare::recorder
