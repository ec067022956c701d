// Writing the notes of failed requests: see failed_request.h.
#include "recorder/events/failed_request.h"

#include <errno.h>

#include "recorder/events/nested.h"

namespace tare::recorder {

void write_failed_request(Thread* thread, const StartState& start, const FailedRequest& request) {
  Capture capture = thread->unwinder.capture(start);
  if (!prepare(thread, start, 4, capture)) return;
  // Always with a stamp: reports show the time between the last one and the end of the program.
  const Stamped now{stamp_after_loads(), kStampedBit};
  thread->newest_stamp = now.stamp;
  thread->newest_block = kNoBlock;
  if (single_threaded()) thread->gap_start = now.stamp;
  commit(thread, put_frames(put_failed_request(thread->cursor, request, frame_bits(capture), now), capture));
}

TARE_REALIGNED void record_failed_request(const StartState& start, std::uint64_t requested, trace::AllocApi api,
                                          std::uint64_t align) {
  if (requested == 0) return;  // the allocator may return null then
  const int error = errno;
  const FailedRequest request{requested, api, static_cast<std::uint8_t>(align == 0 ? 0 : __builtin_ctzll(align))};
  if (!recorder.paused()) {
    const Entry entry = settle(start);
    Thread* const thread = this_thread;
    if (entry == Entry::Ready && !recorder.paused()) {  // a paused parent's child has only just found out
      enter(thread, start);
      write_failed_request(thread, start, request);
      leave(thread);
    } else if (entry == Entry::Nested) {
      queue_failed_request(thread, start, request);
    }
  }
  errno = error;
}

void leave_failed_realloc(Thread* thread, const ReallocBegin& begin, const StartState& start, std::uint64_t requested,
                          trace::AllocApi api) {
  give_up_realloc(thread, begin);
  leave(thread);
  record_failed_request(start, requested, api);
}

}  // namespace tare::recorder
