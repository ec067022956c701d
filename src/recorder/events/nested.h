// Events of signal handlers that interrupted a hook: kept aside, whole stacks and own stamps, until that hook has
// written its own.
#pragma once

#include "recorder/events/failed_request.h"
#include "recorder/events/record.h"

namespace tare::recorder {

struct Mapping;

// Where the hook that the thread is in returns to, and its stack pointer then.
struct OuterFrame {
  std::uint64_t sp;  // or kNoFrame
  std::uint64_t return_address;
};

// Is the hook that `thread` is in, with that frame, among the callers of the one at `start`: interrupted by a signal
// handler that called it?
bool is_called_by_hook(Thread* thread, const OuterFrame& frame, const StartState& start);

// Notes the frame of the hook that the thread is in, which a signal interrupted in enter(). False: `start` wasn't
// called by a signal handler, so that the hook was left.
bool note_interrupted_frame(Thread* thread, const StartState& start);

void queue_alloc(Thread* thread, const StartState& start, const Block& block);
void queue_free(Thread* thread, std::uint64_t address, trace::FreeApi api);
void queue_realloc(Thread* thread, const StartState& start, std::uint64_t before, std::uint64_t old,
                   const Block& block);
void queue_failed_request(Thread* thread, const StartState& start, const FailedRequest& request);
void queue_mapping(Thread* thread, const StartState& start, const Mapping& mapping, std::uint64_t before);
inline bool has_queued(const Thread* thread) {
  return (thread->attention.load(std::memory_order_relaxed) & kPendingEvents) != 0;
}
inline bool is_queue_half_full(const Thread* thread) {
  return thread->nested != nullptr && thread->nested->used.load(std::memory_order_relaxed) > Nested::kWords / 2;
}
// Signals blocked, gate closed. Until then the thread's chunk has no room: a handler between the end of the interrupted
// hook and leave_slowly() would write newer events in front of these.
void write_queued(Thread* thread);

}  // namespace tare::recorder
