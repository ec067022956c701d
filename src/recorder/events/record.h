// From a hook to words in the spool: the fast path, inlined into every hook. Rare cases are in record.cc.
//
// An event is written between enter() and leave(), in this order: stack, room in the chunk, stamp, words, `committed`.
// The stamp is taken after the chunk is open and marked busy. So if a reader sees no busy thread, every event that it
// hasn't seen has a later stamp. A free is written before the real call, everything else after it.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/base/stamp.h"
#include "recorder/events/call_timer.h"
#include "recorder/events/thread.h"
#include "recorder/recorder.h"
#include "recorder/unwind/libc_entries.h"
#include "trace/spool/spool_event.h"

// Nonzero while the process has one thread. Weak: older C libraries lack it, then every event is stamped.

namespace tare::recorder {

// Where the hook was called from. Must be expanded in the hook itself.
#define TARE_HERE                                                                                              \
  (::tare::recorder::StartState{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), TARE_CALLERS_SP, \
                                *static_cast<const std::uint64_t*>(__builtin_frame_address(0))})

// The maker of a block: the program's own operator new may have written into the block already.
enum class Maker : std::uint8_t { Allocator, Program };

// A block as an event has it. The constructor stores member by member: the compiler clears an aggregate by 16-byte
// stores.
struct Block {
  Block(std::uint64_t block, std::uint64_t asked, std::uint64_t room, trace::AllocApi made_by, std::uint8_t align,
        double sample_weight, Maker made_in = Maker::Allocator)
      : address(block),
        requested(asked),
        usable(room),
        api(made_by),
        align_log2(align),
        weight(sample_weight),
        maker(made_in) {}

  std::uint64_t address;
  std::uint64_t requested;
  std::uint64_t usable;
  trace::AllocApi api;
  std::uint8_t align_log2;  // 0: none requested
  double weight;            // 0: not sampled, every block counts as one
  Maker maker;
};

constexpr std::uint64_t kStampedBit = 1u << 5;  // the same in every kind of event
static_assert(trace::W0::kStamped == kStampedBit && trace::F0::kStamped == kStampedBit &&
              trace::N0::kStamped == kStampedBit);

TARE_INLINE bool is_ready(const Thread* thread) {
  return TARE_LIKELY(thread != nullptr) && TARE_LIKELY(recorder.alive_and_exact()) &&
         TARE_LIKELY(thread->gate.load(std::memory_order_relaxed) == Gate::Ready);
}

// The gate is shut first: a handler that interrupts this finds `busy` unset, and takes the frame below for an earlier
// hook's. If the frame came first, the handler would leave its own in its place, and the next handler would take this
// hook for one that was left.
TARE_INLINE void enter(Thread* thread, const StartState& start) {
  const StartState here = start;  // in registers: the fence makes memory be read again
  thread->gate.store(Gate::InHook, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->outer_sp = here.sp;
  thread->outer_return = here.return_address;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->control->busy.store(1, std::memory_order_relaxed);
}

void leave_slowly(Thread* thread);

TARE_INLINE void leave(Thread* thread) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (TARE_UNLIKELY(thread->attention.load(std::memory_order_relaxed) != 0)) return leave_slowly(thread);
  thread->control->busy.store(0, std::memory_order_release);
}

TARE_INLINE bool single_threaded() { return *libc_entries.single_threaded != 0; }

struct Stamped {
  std::uint64_t stamp;
  std::uint64_t flag;  // kStampedBit: the stamp is to be written
};

TARE_INLINE Stamped stamp_event(Thread* thread) {
  if (TARE_LIKELY(single_threaded())) {
    const std::uint64_t now = stamp();
    if (TARE_LIKELY(now - thread->gap_start < kStampGap)) return {now, 0};
    thread->gap_start = thread->newest_stamp = now;
    time_next_call();
    return {now, kStampedBit};
  }
  const std::uint64_t now = stamp_after_loads();
  thread->gap_start = 0;  // back to one thread: the next event's time must not be that of an older one
  thread->newest_stamp = now;
  return {now, kStampedBit};
}

TARE_INLINE bool has_room(const Thread* thread, std::uint64_t words) {
  return reinterpret_cast<std::uintptr_t>(thread->cursor) + words * sizeof(std::uint64_t) <=
         reinterpret_cast<std::uintptr_t>(thread->end);
}

TARE_INLINE void commit(Thread* thread, std::uint64_t* end) {
  thread->cursor = end;
  ++thread->events;
  const auto bytes = static_cast<std::uint32_t>((end - thread->begin) * sizeof(std::uint64_t));
  thread->control->committed.store(bytes, std::memory_order_release);
}

// Opens a new chunk, and captures again with every frame. False: the event is dropped and counted.
bool make_room(Thread* thread, const StartState& start, Capture& capture, std::uint64_t words);
bool make_room(Thread* thread, std::uint64_t words);
void note_capture(Unwinder& unwinder, const Capture& capture);  // truncated or incomplete: counted

TARE_INLINE std::uint64_t* put_frames(std::uint64_t* out, const Capture& capture) {
  const std::uint32_t* rows = capture.rows;
  const std::uint32_t count = capture.fresh;
  std::uint32_t i = 0;
  for (; i + 1 < count; i += 2) *out++ = rows[i] | std::uint64_t{rows[i + 1]} << 32;
  if (i < count) *out++ = rows[i];
  return out;
}

TARE_INLINE std::uint64_t frame_bits(const Capture& capture) {
  return std::uint64_t{capture.kept} << trace::W0::kKeptShift | std::uint64_t{capture.fresh} << trace::W0::kFreshShift |
         (capture.truncated ? trace::W0::kTruncated : 0);
}

// Makes sure that the event with this stack can be written.
TARE_INLINE bool prepare(Thread* thread, const StartState& start, std::uint64_t fixed_words, Capture& capture) {
  if (TARE_UNLIKELY(!has_room(thread, fixed_words + (capture.fresh + 1) / 2))) {
    if (!make_room(thread, start, capture, fixed_words)) return false;
  }
  if (TARE_UNLIKELY(!capture.complete || capture.truncated)) note_capture(thread->unwinder, capture);
  return true;
}

// The words that Alloc and Realloc share, up to the stamp. Adds its flags to `word0`.
TARE_INLINE std::uint64_t* put_block(std::uint64_t* out, const Block& block, std::uint64_t& word0) {
  std::uint64_t* const word1 = out + 1;
  *word1 = (block.address & trace::W1::kAddressMask) | std::uint64_t{block.align_log2} << trace::W1::kAlignShift |
           static_cast<std::uint64_t>(block.api) << trace::W1::kApiShift;
  out[2] = block.requested;
  out += 3;
  const std::uint64_t slop = block.usable - block.requested;
  if (TARE_LIKELY(slop <= trace::W0::kSlopMask)) {
    word0 |= slop << trace::W0::kSlopShift;
  } else {
    word0 |= trace::W0::kUsableWord;
    *out++ = block.usable;
  }
  if (TARE_UNLIKELY(block.weight != 0)) {
    *word1 |= trace::W1::kWeighted;
    *out++ = __builtin_bit_cast(std::uint64_t, block.weight);
  }
  return out;
}

TARE_INLINE void write_alloc(Thread* thread, const StartState& start, const Block& block) {
  const std::uint32_t epoch = thread->epoch;
  Capture capture = thread->unwinder.capture(start);
  if (TARE_UNLIKELY(!prepare(thread, start, 6, capture))) return;
  if (TARE_UNLIKELY(thread->epoch != epoch)) {  // a handler found that this hook was left
    thread->unwinder.forget();                  // the capture above stays unwritten
    return;
  }
  const Stamped now = stamp_event(thread);
  thread->newest_block = block.address;
  std::uint64_t* const out = thread->cursor;
  std::uint64_t word0 = static_cast<std::uint64_t>(trace::Op::Alloc) | now.flag | frame_bits(capture);
  std::uint64_t* end = put_block(out, block, word0);
  if (now.flag != 0) *end++ = now.stamp;
  out[0] = word0;
  commit(thread, put_frames(end, capture));
}

TARE_INLINE std::uint64_t free_word(std::uint64_t address, trace::FreeApi api) {
  return static_cast<std::uint64_t>(trace::Op::Free) | static_cast<std::uint64_t>(api) << trace::F0::kApiShift |
         address << trace::F0::kAddressShift;
}

void write_free_with_stack(Thread* thread, const StartState& start, std::uint64_t address, trace::FreeApi api);

TARE_INLINE void write_free(Thread* thread, const StartState& start, std::uint64_t address, trace::FreeApi api) {
  if (TARE_UNLIKELY(recorder.free_stacks())) return write_free_with_stack(thread, start, address, api);
  if (TARE_UNLIKELY(!has_room(thread, 2)) && !make_room(thread, 2)) return;
  const Stamped now = stamp_event(thread);
  std::uint64_t* out = thread->cursor;
  *out++ = free_word(address, api) | now.flag;
  if (now.flag != 0) *out++ = now.stamp;
  commit(thread, out);
}

// State of a realloc before the real call: its stack, room for its event, and the stamp of the old block's end.
struct ReallocBegin {
  Capture capture;
  Stamped before;
  std::uint32_t epoch;
  bool recorded;
};
ReallocBegin begin_realloc(Thread* thread, const StartState& start);
// False where a handler gave this hook up meanwhile: the captured stack then stays unwritten, and nothing may build on
// it.
bool still_recording(Thread* thread, const ReallocBegin& begin);
void write_realloc(Thread* thread, const ReallocBegin& begin, std::uint64_t old, const Block& block);
void write_realloc_free(Thread* thread, const ReallocBegin& begin, std::uint64_t old, trace::FreeApi api);
void give_up_realloc(Thread* thread, const ReallocBegin& begin);

void write_note(Thread* thread, trace::Op op, std::uint64_t value, std::uint64_t flags = 0);  // of word 0
void write_seen(Thread* thread);                                                              // before a sampled event
struct SeenContents;
// Before the free or realloc that ends the block.
void write_contents(Thread* thread, std::uint64_t address, const SeenContents& seen);

// The action of a hook if the thread isn't ready: start, attach, become a forked child; or queue a nested event; or
// nothing; or note that it is within a foreign allocator's call. From Ignored on, no event of a block is written.
enum class Entry : std::uint8_t { Ready, Nested, Ignored, Within };
Entry settle(const StartState& start);
// The hook that the thread is in will never come back, or must not write any more.
void give_up_hook(Thread* thread);

// Sampling, and this one isn't: all there is to do. The state of the thread, its hooks and the process doesn't matter
// then.
bool passes_unsampled(std::uint64_t usable_bytes);
bool ends_unsampled(std::uint64_t address);
// Before the real call, of a request whose octave is known (see Sampler::request_octave): the weight of the block that
// it makes, 0 if it isn't sampled, Sampler::kUndecided if that's decided after the call.
double decide_early(std::uint64_t requested);
// `block` with its weight; `entry` is the result of settle().
void record_decided(Entry entry, const StartState& start, const Block& block);
// The block is passed word by word. The compiler copies a struct by 16-byte moves, and the program's stack may be
// aligned to 8 bytes only.
struct BlockTraits {  // of a Block
  trace::AllocApi api;
  std::uint8_t align_log2;
  Maker maker = Maker::Allocator;
};
void record_alloc_slowly(const StartState& start, std::uint64_t address, std::uint64_t requested, std::uint64_t usable,
                         BlockTraits traits, double weight = Sampler::kUndecided);
void record_free_slowly(const StartState& start, std::uint64_t address, trace::FreeApi api);

TARE_INLINE void record_alloc(const StartState& start, const Block& block) {
  Thread* thread = this_thread;
  if (TARE_UNLIKELY(!is_ready(thread))) {
    if (recorder.sleeps()) return;
    if (passes_unsampled(block.usable)) return;
    const BlockTraits traits{block.api, block.align_log2, block.maker};
    record_alloc_slowly(start, block.address, block.requested, block.usable, traits);
    return;
  }
  enter(thread, start);
  write_alloc(thread, start, block);
  leave(thread);
}

TARE_INLINE void record_free(const StartState& start, std::uint64_t address, trace::FreeApi api) {
  Thread* thread = this_thread;
  if (TARE_UNLIKELY(!is_ready(thread))) {
    if (recorder.sleeps()) return;
    if (!ends_unsampled(address)) record_free_slowly(start, address, api);
    return;
  }
  enter(thread, start);
  write_free(thread, start, address, api);
  leave(thread);
}

}  // namespace tare::recorder
