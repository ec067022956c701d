// Writing them, or queueing those of signal handlers.
#include "recorder/hooks/mappings.h"

#include "recorder/events/nested.h"

namespace tare::recorder {

std::uint64_t* put_mapping(std::uint64_t* out, const Mapping& mapping, std::uint64_t bits, const Stamped& before,
                           std::uint64_t after) {
  const bool stamped = before.flag != 0;
  const bool twice = stamped && mapping.is_move();
  *out++ = static_cast<std::uint64_t>(trace::Op::Map) | before.flag | bits | (twice ? trace::W0::kStampBefore : 0);
  *out++ = (mapping.address & trace::W1::kAddressMask) | static_cast<std::uint64_t>(mapping.api)
                                                             << trace::W1::kApiShift;
  *out++ = mapping.length;
  if (twice) *out++ = before.stamp;
  if (stamped) *out++ = mapping.length != 0 ? after : before.stamp;
  *out++ = mapping.old_address;
  *out++ = mapping.old_length;
  return out;
}

namespace {

// As settle(). Inside a foreign allocator's call, which is one event, the thread is made ready for an event of its own.
Entry settle_mapping(const StartState& start, bool& is_within) {
  const Entry entry = settle(start);
  is_within = entry == Entry::Within;
  if (!is_within) return entry;
  Thread* const thread = this_thread;
  if (thread->gate.load(std::memory_order_relaxed) != Gate::Suppressed) return Entry::Nested;  // a realloc's
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
  return Entry::Ready;
}

// The rest of the foreign allocator's call goes on as before, unless another recording began.
void leave_mapping(Thread* thread, bool is_within) {
  const std::uint64_t sp = thread->foreign_sp;
  leave(thread);
  if (!is_within || sp == 0 || thread->gate.load(std::memory_order_relaxed) != Gate::Ready) return;
  thread->outer_sp = sp;
  thread->outer_return = thread->foreign_return;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->gate.store(Gate::Suppressed, std::memory_order_relaxed);
}

}  // namespace

// Never the first event of a process or of a forked child: an allocator may be mapping its heap under its own lock.
UnmapBegin begin_unmap(const StartState& start) {
  UnmapBegin begin{Entry::Ignored, false, {}};
  if (!recorder.alive() || recorder.watching()) return begin;
  begin.entry = settle_mapping(start, begin.is_within);
  if (begin.entry == Entry::Ready) {
    enter(this_thread, start);
    begin.event = begin_realloc(this_thread, start);
  } else if (begin.entry == Entry::Nested) {
    begin.event.before.stamp = stamp_after_loads();
  }
  return begin;
}

void end_unmap(const StartState& start, const UnmapBegin& begin, const Mapping& mapping) {
  Thread* thread = this_thread;
  if (begin.entry == Entry::Nested) queue_mapping(thread, start, mapping, begin.event.before.stamp);
  if (begin.entry != Entry::Ready) return;
  if (still_recording(thread, begin.event)) {
    const Stamped& before = begin.event.before;
    const std::uint64_t after = before.flag != 0 && mapping.length != 0 ? stamp_after_loads() : before.stamp;
    if (before.flag != 0) {
      thread->newest_stamp = after;
      if (thread->gap_start != 0) thread->gap_start = after;
    }
    const Capture& capture = begin.event.capture;
    commit(thread, put_frames(put_mapping(thread->cursor, mapping, frame_bits(capture), before, after), capture));
  }
  leave_mapping(thread, begin.is_within);
}

void give_up_unmap(const UnmapBegin& begin) {
  if (begin.entry != Entry::Ready) return;
  give_up_realloc(this_thread, begin.event);
  leave_mapping(this_thread, begin.is_within);
}

static void write_mapping(Thread* thread, const StartState& start, const Mapping& mapping) {
  Capture capture = thread->unwinder.capture(start);
  if (!prepare(thread, start, 6, capture)) return;
  const Stamped now = stamp_event(thread);
  std::uint64_t* const end = put_mapping(thread->cursor, mapping, frame_bits(capture), now, now.stamp);
  commit(thread, put_frames(end, capture));
}

void record_mapping(const StartState& start, const Mapping& mapping) {
  if (!recorder.alive() || recorder.watching()) return;
  bool is_within = false;
  const Entry entry = settle_mapping(start, is_within);
  Thread* thread = this_thread;
  if (entry == Entry::Ready) {
    enter(thread, start);
    write_mapping(thread, start, mapping);
    leave_mapping(thread, is_within);
  } else if (entry == Entry::Nested) {
    queue_mapping(thread, start, mapping, 0);
  }
}

}  // namespace tare::recorder
