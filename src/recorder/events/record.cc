// The slow side of recording: entries that aren't plain, chunks that are full, and events too rare to inline.
#include "recorder/events/record.h"

#include "recorder/base/syscall.h"
#include "recorder/events/contents.h"
#include "recorder/events/nested.h"
#include "recorder/events/own_cost.h"
#include "recorder/limits/sampling_budget.h"
#include "recorder/unwind/stack_memory.h"
#include "recorder/watch/resting.h"

extern "C" __attribute__((weak)) char** environ;

namespace tare::recorder {

namespace {

struct AlternateStack {  // the kernel's stack_t
  std::uint64_t base;
  std::int32_t flags;
  std::uint64_t bytes;
};

// Is the hook at `start` part of a foreign allocator's call: below its frame, which still stands?
bool is_inside_foreign(const Thread* thread, const StartState& start) {
  constexpr std::uint64_t kDeepestCall = 256 << 10;
  if (thread->foreign_sp == 0 || start.sp >= thread->foreign_sp) return false;
  return thread->foreign_sp - start.sp < kDeepestCall &&
         (!arch::kCallPushes ||
          *reinterpret_cast<const std::uint64_t*>(thread->foreign_sp - 8) == thread->foreign_return);
}

// The return address of the hook's frame isn't there any more: something else has been called since. Where a call
// doesn't push it, the hook's own frame has it, at a place that only a walk finds.
bool is_overwritten(Thread* thread, const OuterFrame& frame, const StartState& start) {
  if (!arch::kCallPushes) return !is_called_by_hook(thread, frame, start);
  const std::uint64_t slot = frame.sp - 8;
  return !probe_readable(slot) || *reinterpret_cast<const std::uint64_t*>(slot) != frame.return_address;
}

OuterFrame outer_frame(const Thread* thread) {
  if (thread->interrupted_sp != 0) return {thread->interrupted_sp, thread->interrupted_return};
  return {thread->outer_sp, thread->outer_return};
}

void forget_interrupted_frame(Thread* thread) {
  thread->interrupted_sp = 0;
  thread->attention.fetch_and(~static_cast<std::uint32_t>(kInterrupted), std::memory_order_relaxed);
}

// enter() was interrupted: the frame in `thread` is an earlier hook's.
bool has_stale_frame(const Thread* thread) {
  return thread->gate.load(std::memory_order_relaxed) == Gate::InHook &&
         thread->control->busy.load(std::memory_order_relaxed) == 0;
}

// Was the recorded hook of `thread` left for good (by a signal handler's longjmp, an exception, a dead vfork child)? On
// its own stack it's alive only if its frame is older than ours: higher, its return address still in place. On another
// stack we are a handler's (SS_AUTODISARM hides that it's the alternate one), and then the hook is among our callers;
// or such as a handler has switched to by swapcontext: then the hook may go on, as long as its frame stands.
TARE_COLD TARE_REALIGNED bool was_given_up(Thread* thread, const StartState& start) {
  constexpr std::int32_t kOnStack = 1;
  constexpr std::uint64_t kSurelyOneStack = 256 << 10;
  constexpr std::uint64_t kLikelyOneStack = 32 << 10;
  if (has_stale_frame(thread)) return !note_interrupted_frame(thread, start);
  const OuterFrame frame = outer_frame(thread);
  if (frame.sp == kNoFrame) return false;  // until the queue is full
  AlternateStack alternate{};
  sys::call(SYS_sigaltstack, 0, sys::word(&alternate));
  const bool here = (alternate.flags & kOnStack) != 0;
  const bool there = frame.sp - alternate.base <= alternate.bytes && alternate.bytes != 0;
  if (here != there) return there;  // a handler on the alternate stack interrupts a hook elsewhere, never the reverse
  if (start.sp < frame.sp) return frame.sp - start.sp <= kSurelyOneStack && is_overwritten(thread, frame, start);
  if (start.sp == frame.sp) return true;
  if (is_called_by_hook(thread, frame, start)) return false;
  return start.sp - frame.sp <= kLikelyOneStack || is_overwritten(thread, frame, start);
}

Entry settle_dead(const StartState& start) {
  Thread* thread = this_thread;
  const bool restarts = recorder.has_new_orders();
  const Gate gate = thread == nullptr ? Gate::Ready : thread->gate.load(std::memory_order_relaxed);
  // A handler forked inside a hook: the hook must first end, with the parent's mappings still there.
  if (gate != Gate::Ready && gate != Gate::Stale) {
    recorder.part_from_parent(*thread);  // where the fork was an instruction of the program's
    if (!restarts || !was_given_up(thread, start)) return Entry::Ignored;
    give_up_hook(thread);
  }
  if (restarts) {
    recorder.restart();
  } else if (!recorder.become_child()) {
    recorder.start(&environ != nullptr ? environ : nullptr);
  }
  return recorder.alive() ? Entry::Ready : Entry::Ignored;
}

}  // namespace

Entry settle(const StartState& start) {
  if (recorder.off() || recorder.sleeps()) return Entry::Ignored;
  if (recorder.detached() && !(recorder.ends_beside_watch() && recorder.resume_watch())) return Entry::Ignored;
  if (!recorder.alive() && settle_dead(start) == Entry::Ignored) return Entry::Ignored;
  Thread* thread = this_thread;
  if (thread == nullptr) {
    thread = recorder.attach_thread();
    if (thread == nullptr) {
      recorder.count_unattached();
      return Entry::Ignored;
    }
  }
  const Gate gate = thread->gate.load(std::memory_order_relaxed);
  if (gate == Gate::Ready && !thread->said_start && !recorder.sampling()) recorder.open_first_chunk(thread);
  if (gate == Gate::Ready) return Entry::Ready;
  if (gate == Gate::Stale) {
    if (recorder.renew(thread)) return Entry::Ready;
    recorder.count_unattached();
    return Entry::Ignored;
  }
  if (is_inside_foreign(thread, start)) return Entry::Within;
  if (was_given_up(thread, start)) {
    give_up_hook(thread);
    return Entry::Ready;
  }
  return gate == Gate::Suppressed ? Entry::Ignored : Entry::Nested;
}

void give_up_hook(Thread* thread) {
  ++thread->epoch;
  if (thread->gate.load(std::memory_order_relaxed) == Gate::InHook) recorder.recount(thread);
  forget_interrupted_frame(thread);
  thread->suppressed_depth = 0;
  thread->foreign_sp = 0;
  if (thread->nested != nullptr) thread->nested->is_being_written = false;
  thread->unwinder.forget();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
}

bool passes_unsampled(std::uint64_t usable_bytes) {
  if (!recorder.alive_and_sampling()) return false;
  Thread* thread = this_thread;
  return thread != nullptr && sampler.passes_by(thread->sampling, Sampler::octave(usable_bytes));
}

double decide_early(std::uint64_t requested) {
  Thread* thread = this_thread;
  const Gate gate = thread->gate.load(std::memory_order_relaxed);
  if (gate != Gate::Ready && gate != Gate::InHook) return Sampler::kUndecided;
  return sampler.decide(thread->sampling, Sampler::request_octave(requested));
}

bool ends_unsampled(std::uint64_t address) {
  if (!recorder.alive_and_sampling() || sampler.sampled.may_hold(address)) return false;
  Sampler::count_free();
  return true;
}

void record_decided(Entry entry, const StartState& start, const Block& block) {
  Thread* thread = this_thread;
  if (entry == Entry::Ready) {
    enter(thread, start);
    if (block.weight != 0) write_seen(thread);
    write_alloc(thread, start, block);
    leave(thread);
  } else if (entry == Entry::Nested) {
    queue_alloc(thread, start, block);
  }
}

void record_alloc_slowly(const StartState& start, std::uint64_t address, std::uint64_t requested, std::uint64_t usable,
                         BlockTraits traits, double weight) {
  if (recorder.paused() && !recorder.ends_beside_watch()) return;
  const Entry entry = settle(start);
  if (recorder.watch_rests() && entry < Entry::Ignored) {
    note_birth_beside_watch(Block{address, requested, usable, traits.api, traits.align_log2, 0, traits.maker});
  }
  if (entry >= Entry::Ignored || recorder.paused()) {  // a paused parent's child has only just found out
    if (entry == Entry::Within) {
      this_thread->nested_block = address;
      this_thread->nested_bytes = requested;
    }
    return;
  }
  Block block{address, requested, usable, traits.api, traits.align_log2, 0, traits.maker};
  if (!recorder.sampling()) {
    if (recorder.contents()) contents_of_blocks.born(block);
    return record_decided(entry, start, block);
  }
  SamplingState& state = this_thread->sampling;
  const int size = weight == Sampler::kUndecided ? Sampler::octave(usable) : Sampler::request_octave(requested);
  block.weight = weight == Sampler::kUndecided ? sampler.decide(state, size) : weight;
  if (block.weight == 0) return;
  const CostOfCall cost;
  // A sampled block that the set has no room for would never be seen to end. A thread's next sample after stop() was
  // drawn before it.
  if (!sampler.is_stopped() && sampler.sampled.insert(block.address, sampler.odds_of(block.weight, size))) {
    if (recorder.contents()) contents_of_blocks.born(block);
    record_decided(entry, start, block);
  }
  Sampler::count_allocation(state);
}

static std::uint64_t* put_contents(std::uint64_t* out, std::uint64_t address, const SeenContents& seen,
                                   const Stamped& now) {
  *out++ = static_cast<std::uint64_t>(trace::Op::Contents) | now.flag |
           static_cast<std::uint64_t>(seen.content_class) << trace::ContentsWord::kClassShift |
           seen.unwritten_bytes << trace::ContentsWord::kUnwrittenShift | (seen.is_new ? trace::ContentsWord::kNew : 0);
  *out++ = address;
  *out++ = seen.digest;
  if (now.flag != 0) *out++ = now.stamp;
  return out;
}

// Stamped as the event that it precedes: other threads' events may lie between the thread's last one and this.
void write_contents(Thread* thread, std::uint64_t address, const SeenContents& seen) {
  if (!has_room(thread, 4) && !recorder.next_chunk(thread, 4)) return;
  const Stamped now = stamp_event(thread);
  commit(thread, put_contents(thread->cursor, address, seen, now));
}

// With one stamp for both: the free's is that of the event before it, and no other thread's comes between the two.
static void write_contents_and_free(Thread* thread, std::uint64_t address, const SeenContents& seen,
                                    trace::FreeApi api) {
  if (!has_room(thread, 5) && !make_room(thread, 5)) return;
  const Stamped now = stamp_event(thread);
  std::uint64_t* out = put_contents(thread->cursor, address, seen, now);
  ++thread->events;
  *out++ = free_word(address, api);
  commit(thread, out);
}

TARE_REALIGNED void record_free_slowly(const StartState& start, std::uint64_t address, trace::FreeApi api) {
  if (recorder.contents()) contents_of_blocks.prefetch(address);
  if (recorder.ends_beside_watch()) note_end_beside_watch(address);
  const Entry entry = settle(start);
  if (entry >= Entry::Ignored) {
    if (recorder.ends_beside_watch()) note_end_beside_watch(address);  // an attach began just now
    return;
  }
  Thread* thread = this_thread;
  const bool sampling = recorder.sampling();
  if (sampling && !sampler.sampled.remove(address)) return Sampler::count_free();
  const CostOfCall cost(sampling);
  SeenContents seen;
  if (recorder.contents()) seen = contents_of_blocks.ended(address);
  if (entry == Entry::Ready) {
    enter(thread, start);
    contents_of_blocks.mark_new(seen);
    if (seen.tells() && !sampling && !recorder.free_stacks()) {
      write_contents_and_free(thread, address, seen, api);
    } else {
      if (seen.tells()) write_contents(thread, address, seen);
      if (sampling) write_seen(thread);
      write_free(thread, start, address, api);
    }
    leave(thread);
  } else {
    queue_free(thread, address, api);
  }
  if (sampling) Sampler::count_free();
}

void leave_slowly(Thread* thread) {
  forget_interrupted_frame(thread);
  if ((thread->attention.load(std::memory_order_relaxed) & kTimed) != 0) {
    write_call_cost(thread);
    if (thread->attention.load(std::memory_order_relaxed) == 0) {
      thread->control->busy.store(0, std::memory_order_release);
      return;
    }
  }
  const sys::SignalsBlocked blocked;
  if ((thread->attention.load(std::memory_order_relaxed) & kStale) != 0) {
    thread->control->busy.store(0, std::memory_order_release);
    thread->gate.store(Gate::Stale, std::memory_order_relaxed);
    return;
  }
  thread->gate.store(Gate::InHook, std::memory_order_relaxed);
  forget_interrupted_frame(thread);  // of the note about the call's time
  if (has_queued(thread)) write_queued(thread);
  if ((thread->attention.load(std::memory_order_relaxed) & kWatched) != 0) recorder.apply_watched(thread);
  if ((thread->attention.load(std::memory_order_relaxed) & kLeaving) != 0) recorder.close_chunk(thread);
  thread->control->busy.store(0, std::memory_order_release);
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
}

bool make_room(Thread* thread, std::uint64_t words) {
  if (recorder.next_chunk(thread, words)) return true;
  recorder.count_dropped(thread, 1);
  return false;
}

bool make_room(Thread* thread, const StartState& start, Capture& capture, std::uint64_t words) {
  do {
    if (!make_room(thread, words + (capture.depth + 1) / 2)) return false;
    capture = thread->unwinder.capture(start);  // next_chunk() cleared the stored frames: capture all
    if (has_room(thread, words + (capture.fresh + 1) / 2)) return true;
  } while (has_queued(thread));  // a handler used the room meanwhile
  return false;
}

void note_capture(Unwinder& unwinder, const Capture& capture) {
  if (capture.truncated) recorder.count_truncated();
  if (capture.complete) return;
  std::uint32_t row = 0;
  if (unwinder.ends_without_table(row)) {
    recorder.count_unwind_gap(row);
  } else {
    recorder.count_unwind_failure();
  }
}

void write_free_with_stack(Thread* thread, const StartState& start, std::uint64_t address, trace::FreeApi api) {
  Capture capture = thread->unwinder.capture(start);
  if (!prepare(thread, start, 3, capture)) return;
  const Stamped now = stamp_event(thread);
  std::uint64_t* out = thread->cursor;
  *out++ = free_word(address, api) | now.flag | trace::F0::kStack;
  if (now.flag != 0) *out++ = now.stamp;
  *out++ = frame_bits(capture);
  commit(thread, put_frames(out, capture));
}

ReallocBegin begin_realloc(Thread* thread, const StartState& start) {
  ReallocBegin begin;
  begin.epoch = thread->epoch;
  begin.capture = thread->unwinder.capture(start);
  begin.recorded = prepare(thread, start, 8, begin.capture);
  if (begin.recorded) begin.before = stamp_event(thread);
  return begin;
}

bool still_recording(Thread* thread, const ReallocBegin& begin) {
  if (begin.recorded && thread->epoch == begin.epoch) return true;
  if (begin.recorded) thread->unwinder.forget();
  return false;
}

void write_realloc(Thread* thread, const ReallocBegin& begin, std::uint64_t old, const Block& block) {
  if (!still_recording(thread, begin)) return;
  std::uint64_t* const out = thread->cursor;
  std::uint64_t word0 = static_cast<std::uint64_t>(trace::Op::Realloc) | begin.before.flag | frame_bits(begin.capture);
  std::uint64_t* end = put_block(out, block, word0);
  if (begin.before.flag != 0) {
    *end++ = begin.before.stamp;
    const std::uint64_t after = stamp_after_loads();
    *end++ = after;
    thread->newest_stamp = after;
    if (thread->gap_start != 0) thread->gap_start = after;
  }
  *end++ = old;
  out[0] = word0;
  commit(thread, put_frames(end, begin.capture));
}

void write_realloc_free(Thread* thread, const ReallocBegin& begin, std::uint64_t old, trace::FreeApi api) {
  if (!still_recording(thread, begin)) return;
  std::uint64_t* out = thread->cursor;
  const bool stack = recorder.free_stacks();
  *out++ = free_word(old, api) | begin.before.flag | (stack ? trace::F0::kStack : 0);
  if (begin.before.flag != 0) *out++ = begin.before.stamp;
  if (stack) {
    *out++ = frame_bits(begin.capture);
    out = put_frames(out, begin.capture);
  } else {
    thread->unwinder.forget();  // its stack stays unwritten
  }
  commit(thread, out);
}

void give_up_realloc(Thread* thread, const ReallocBegin& begin) {
  if (begin.recorded) thread->unwinder.forget();
}

void write_note(Thread* thread, trace::Op op, std::uint64_t value, std::uint64_t flags) {
  if (!has_room(thread, 3) && !recorder.next_chunk(thread, 3)) return;
  const std::uint64_t now = stamp_after_loads();
  std::uint64_t* out = thread->cursor;
  *out++ = static_cast<std::uint64_t>(op) | kStampedBit | flags;
  *out++ = value;
  *out++ = now;
  thread->newest_stamp = now;
  if (single_threaded()) thread->gap_start = now;
  commit(thread, out);
}

void write_seen(Thread* thread) {
  if (recorder.watching()) return;
  sampling_budget.note_event();
  write_note(thread, trace::Op::Seen, sampler.seen(thread->sampling).word());
}

}  // namespace tare::recorder
