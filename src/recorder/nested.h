// Events of signal handlers that interrupted a hook: kept aside, whole stacks and own stamps, until that hook has
// written its own.
#pragma once

#include "recorder/record.h"

namespace tare::recorder {

struct Mapping;

// Is the hook that `thread` is in among the callers of the one at `start`: interrupted by a signal handler that called
// it?
bool is_called_by_hook(Thread* thread, const StartState& start);

void queue_alloc(Thread* thread, const StartState& start, const Block& block);
void queue_free(Thread* thread, std::uint64_t address, trace::FreeApi api);
void queue_realloc(Thread* thread, const StartState& start, std::uint64_t before, std::uint64_t old,
                   const Block& block);
void queue_mapping(Thread* thread, const StartState& start, const Mapping& mapping, std::uint64_t before);
// Signals blocked, gate closed.
void write_queued(Thread* thread);

}  // namespace tare::recorder
