// Events of signal handlers that interrupted a hook: kept aside, whole stacks and own stamps, until that hook has
// written its own.
#pragma once

#include "recorder/record.h"

namespace tare::recorder {

void queue_alloc(Thread* thread, const StartState& start, const Block& block);
void queue_free(Thread* thread, std::uint64_t address, trace::FreeApi api);
void queue_realloc(Thread* thread, const StartState& start, std::uint64_t before, std::uint64_t old,
                   const Block& block);
void queue_mapping(Thread* thread, const StartState& start, const Mapping& mapping);
// Signals blocked, gate closed.
void write_queued(Thread* thread);

}  // namespace tare::recorder
