// Recording a realloc: one event that ends a block and starts another.
#pragma once

#include <cstddef>

#include "recorder/events/record.h"

namespace tare::recorder {

// Calls the real realloc of `old` (not null) and records it.
void* record_realloc(const StartState& start, void* old, std::size_t bytes, trace::AllocApi api);
// The parent's note of a fork.
void record_fork(const StartState& start, std::uint32_t child);

}  // namespace tare::recorder
