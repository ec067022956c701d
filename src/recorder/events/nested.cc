// The queue of nested events.
#include "recorder/events/nested.h"

#include <sys/mman.h>

#include "recorder/base/syscall.h"
#include "recorder/hooks/mappings.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

namespace {

// Head word of a queued event: bits 0..15 its words, 16..31 where its stamps are, 32..33 how many.
constexpr std::uint64_t head_word(std::uint64_t words, std::uint64_t stamp_at, std::uint64_t stamps) {
  return words | stamp_at << 16 | stamps << 32;
}

Nested* nested_of(Thread* thread) {
  if (thread->nested == nullptr) thread->nested = static_cast<Nested*>(reserve_zeroed(sizeof(Nested)));
  return thread->nested;
}

// One event being queued. A handler that interrupts a handler in here finds it busy: its event is dropped and counted.
class Slot {
 public:
  explicit Slot(Thread* thread) : thread_(thread), nested_(nested_of(thread)) {
    if (nested_ == nullptr || nested_->busy.exchange(1, std::memory_order_relaxed) != 0) {
      nested_ = nullptr;
      recorder.count_dropped_nested();
    }
  }
  ~Slot() {
    if (nested_ != nullptr) nested_->busy.store(0, std::memory_order_relaxed);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  explicit operator bool() const { return nested_ != nullptr; }
  Unwinder& unwinder() { return nested_->unwinder; }

  // The place of the event's words, or null: the queue is full, and the hook under way counts as left.
  std::uint64_t* begin(std::uint64_t words) {
    const std::uint32_t used = nested_->used.load(std::memory_order_relaxed);
    if (used + 1 + words > Nested::kWords) {
      recorder.count_dropped_nested();
      give_up_hook(thread_);
      return nullptr;
    }
    start_ = nested_->words + used;
    return start_ + 1;
  }
  void end(const std::uint64_t* end, const std::uint64_t* stamps, std::uint64_t stamp_count) {
    const std::uint64_t* event = start_ + 1;
    const auto words = static_cast<std::uint64_t>(end - event);
    *start_ = head_word(words, static_cast<std::uint64_t>(stamps - event), stamp_count);
    nested_->used.store(static_cast<std::uint32_t>(end - nested_->words), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_->attention.fetch_or(kPendingEvents, std::memory_order_relaxed);
    thread_->end = thread_->begin;  // no event is written before these: see write_queued()
    recorder.count_nested();
  }

 private:
  Thread* thread_;
  Nested* nested_;
  std::uint64_t* start_ = nullptr;
};

Capture whole_stack(Unwinder& unwinder, const StartState& start) {
  unwinder.forget();
  const Capture capture = unwinder.capture(start);
  if (!capture.complete || capture.truncated) note_capture(unwinder, capture);
  return capture;
}

}  // namespace

bool is_called_by_hook(Thread* thread, const OuterFrame& frame, const StartState& start) {
  Nested* const nested = nested_of(thread);
  // The thread is unknown.
  if (nested == nullptr || nested->busy.exchange(1, std::memory_order_relaxed) != 0) return true;
  const bool is_caller = nested->unwinder.passes(start, frame.return_address, frame.sp);
  nested->busy.store(0, std::memory_order_relaxed);
  return is_caller;
}

bool note_interrupted_frame(Thread* thread, const StartState& start) {
  using Interrupted = Unwinder::Interrupted;
  Nested* const nested = nested_of(thread);
  Interrupted found = Interrupted::Unknown;
  if (nested != nullptr && nested->busy.exchange(1, std::memory_order_relaxed) == 0) {
    found = nested->unwinder.interrupted(start, thread->interrupted_return, thread->interrupted_sp);
    nested->busy.store(0, std::memory_order_relaxed);
  }
  if (found == Interrupted::Hook) thread->attention.fetch_or(kInterrupted, std::memory_order_relaxed);
  if (found == Interrupted::Unknown) thread->outer_sp = kNoFrame;
  thread->control->busy.store(1, std::memory_order_relaxed);  // an event is stamped now and written later
  return found != Interrupted::Nothing;
}

void queue_alloc(Thread* thread, const StartState& start, const Block& block) {
  const std::uint64_t now = stamp_after_loads();
  Slot slot(thread);
  if (!slot) return;
  const Capture capture = whole_stack(slot.unwinder(), start);
  std::uint64_t* const out = slot.begin(6 + (capture.fresh + 1) / 2);
  if (out == nullptr) return;
  std::uint64_t word0 = static_cast<std::uint64_t>(trace::Op::Alloc) | kStampedBit | frame_bits(capture);
  std::uint64_t* const at = put_block(out, block, word0);
  out[0] = word0;
  *at = now;
  slot.end(put_frames(at + 1, capture), at, 1);
}

void queue_free(Thread* thread, std::uint64_t address, trace::FreeApi api) {
  const std::uint64_t now = stamp_after_loads();
  Slot slot(thread);
  if (!slot) return;
  std::uint64_t* const out = slot.begin(2);
  if (out == nullptr) return;
  out[0] = free_word(address, api) | kStampedBit;
  out[1] = now;
  slot.end(out + 2, out + 1, 1);
}

void queue_realloc(Thread* thread, const StartState& start, std::uint64_t before, std::uint64_t old,
                   const Block& block) {
  const std::uint64_t now = stamp_after_loads();
  Slot slot(thread);
  if (!slot) return;
  const Capture capture = whole_stack(slot.unwinder(), start);
  std::uint64_t* const out = slot.begin(8 + (capture.fresh + 1) / 2);
  if (out == nullptr) return;
  std::uint64_t word0 = static_cast<std::uint64_t>(trace::Op::Realloc) | kStampedBit | frame_bits(capture);
  std::uint64_t* const at = put_block(out, block, word0);
  out[0] = word0;
  at[0] = before;
  at[1] = now;
  at[2] = old;
  slot.end(put_frames(at + 3, capture), at, 2);
}

void queue_failed_request(Thread* thread, const StartState& start, const FailedRequest& request) {
  const std::uint64_t now = stamp_after_loads();
  Slot slot(thread);
  if (!slot) return;
  const Capture capture = whole_stack(slot.unwinder(), start);
  std::uint64_t* const out = slot.begin(4 + (capture.fresh + 1) / 2);
  if (out == nullptr) return;
  std::uint64_t* const end = put_failed_request(out, request, frame_bits(capture), {now, kStampedBit});
  slot.end(put_frames(end, capture), end - 1, 1);
}

void queue_mapping(Thread* thread, const StartState& start, const Mapping& mapping, std::uint64_t before) {
  const std::uint64_t now = stamp_after_loads();
  Slot slot(thread);
  if (!slot) return;
  const Capture capture = whole_stack(slot.unwinder(), start);
  std::uint64_t* const out = slot.begin(7 + (capture.fresh + 1) / 2);
  if (out == nullptr) return;
  std::uint64_t* const end = put_mapping(out, mapping, frame_bits(capture), {before, kStampedBit}, now);
  slot.end(put_frames(end, capture), out + 3, mapping.is_move() ? 2 : 1);
}

// Where it waits for a chunk, handlers queue more events behind those, and opening the chunk calls it again.
void write_queued(Thread* thread) {
  Nested* nested = thread->nested;
  if (nested->is_being_written) return;
  nested->is_being_written = true;
  const std::uint32_t epoch = thread->epoch;
  thread->attention.fetch_and(~static_cast<std::uint32_t>(kPendingEvents), std::memory_order_relaxed);
  recorder.set_end(thread);
  while (nested->written < nested->used.load(std::memory_order_relaxed)) {
    const std::uint64_t head = nested->words[nested->written];
    std::uint64_t* event = nested->words + nested->written + 1;
    const std::uint64_t words = head & 0xffff;
    // A thread's stamps never go back: the interrupted hook's event is written before these, but may be stamped after
    // them.
    std::uint64_t* stamps = event + (head >> 16 & 0xffff);
    for (std::uint64_t i = 0; i < head >> 32; ++i) {
      if (stamps[i] < thread->newest_stamp) stamps[i] = thread->newest_stamp;
      thread->newest_stamp = stamps[i];
    }
    if (has_room(thread, words) || make_room(thread, words)) {
      std::uint64_t* out = thread->cursor;
      for (std::uint64_t i = 0; i < words; ++i) out[i] = event[i];
      commit(thread, out + words);
    }
    if (thread->epoch != epoch) return;  // a handler found that this hook was left: the next hook writes the rest
    nested->written += static_cast<std::uint32_t>(1 + words);
  }
  thread->attention.fetch_and(~static_cast<std::uint32_t>(kPendingEvents), std::memory_order_relaxed);
  recorder.set_end(thread);
  nested->clear();
  thread->gap_start = 0;
  thread->unwinder.forget();  // the stacks written last aren't its own
}

}  // namespace tare::recorder
