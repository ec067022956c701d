// Around a foreign allocator's call: see foreign_call.h.
#include "recorder/foreign/foreign_call.h"

#include "recorder/base/address.h"
#include "recorder/events/contents.h"
#include "recorder/events/failed_request.h"
#include "recorder/hooks/real.h"
#include "recorder/watch/resting.h"

namespace tare::recorder {
namespace {

using trace::AllocApi;

// The thread is inside a call of a foreign allocator while this lives. Signal handlers' calls on another stack are
// recorded as if there were none.
class Inside {
 public:
  Inside(Thread* thread, const StartState& start, Gate gate) : thread_(thread), gate_(gate) {
    thread->nested_block = 0;
    thread->foreign_return = start.return_address;
    thread->foreign_sp = start.sp;
    if (gate == Gate::Suppressed) {
      thread->outer_sp = start.sp;
      thread->outer_return = start.return_address;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      thread->gate.store(gate, std::memory_order_relaxed);
    }
    sampling_ = recorder.sampling();
    if (!sampling_) return;
    // No nested block passes by unsampled, so that the slow path sees each. The counts are put back.
    countdown_ = Sampler::stop_all(thread->sampling);
    frees_ = frees_seen;
  }
  ~Inside() {
    if (sampling_) {
      Sampler::give_back(thread_->sampling, countdown_);
      frees_seen = frees_;
    }
    thread_->foreign_sp = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Another recording may have begun in an event of a mapping: then the gate is Stale.
    if (gate_ == Gate::Suppressed && thread_->gate.load(std::memory_order_relaxed) == gate_)
      thread_->gate.store(Gate::Ready, std::memory_order_relaxed);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Thread* thread_;
  Gate gate_;
  bool sampling_;
  std::int64_t countdown_ = 0;
  std::uint16_t frees_ = 0;
};

// The thread, ready for an event; null: this call isn't recorded, or is part of another foreign allocator's.
TARE_INLINE Thread* ready_thread(const StartState& start) {
  if (TARE_LIKELY(is_ready(this_thread))) return this_thread;
  return settle(start) == Entry::Ready ? this_thread : nullptr;
}

__thread bool asking_usable_bytes __attribute__((tls_model("initial-exec"))) = false;

// TCMalloc's function allocates an object at its first call.
std::size_t usable_of(const ForeignHeap& heap, void* block, std::size_t requested) {
  if (!heap.allocates) return heap.usable_bytes(block, requested);
  if (heap.usable_bytes == nullptr || asking_usable_bytes) return requested;
  asking_usable_bytes = true;
  const std::size_t usable = heap.usable_bytes(block, requested);
  asking_usable_bytes = false;
  return usable < requested ? requested : usable;
}

// Did the allocator get this block from malloc for this one request? Else it's the first in a piece of memory that
// further requests share. Some add a few bytes; none is requested as one.
bool is_of_malloc(const Thread* thread, const void* block, const ForeignRequest& request) {
  constexpr std::uint64_t kMostAdded = 64;
  return thread->nested_block == word(block) && request.bytes != kSizeUnknown &&
         thread->nested_bytes - request.bytes <= kMostAdded;
}

// As far as `thread`'s last call inside a foreign allocator shows.
Block block_of(const Thread* thread, const ForeignHeap& heap, void* block, const ForeignRequest& request) {
  const auto align_log2 = static_cast<std::uint8_t>(request.align == 0 ? 0 : __builtin_ctzll(request.align));
  if (is_of_malloc(thread, block, request)) {
    return Block{word(block), request.bytes, usable_bytes(block, request.bytes), request.by_malloc, align_log2, 0};
  }
  const bool is_known = request.bytes != kSizeUnknown;
  const std::size_t asked = is_known ? request.bytes : 0;
  const std::size_t usable = usable_of(heap, block, asked);
  // As one of the program's making: contents are filled and examined by malloc's sizes only.
  return Block{word(block), is_known ? asked : usable, usable, request.by_foreign, align_log2, 0, Maker::Program};
}

}  // namespace

void* record_foreign_alloc(const StartState& start, const ForeignHeap& heap, const ForeignRequest& request,
                           const ForeignCall& call) {
  Thread* const thread = ready_thread(start);
  if (thread == nullptr) return call.perform(call.context);
  void* block;
  {
    const Inside inside(thread, start, Gate::Suppressed);
    block = call.perform(call.context);
  }
  if (TARE_LIKELY(block != nullptr))
    record_alloc(start, block_of(thread, heap, block, request));
  else if (request.bytes != kSizeUnknown)
    record_failed_request(start, request.bytes, request.by_malloc, request.align);
  return block;
}

void record_foreign_free(const StartState& start, void* block, const ForeignCall& call) {
  Thread* const thread = block == nullptr ? nullptr : ready_thread(start);
  if (thread != nullptr) {
    record_free(start, word(block), trace::FreeApi::Free);
    const Inside inside(thread, start, Gate::Suppressed);
    call.perform(call.context);
  } else {
    if (TARE_UNLIKELY(recorder.ends_beside_watch()) && block != nullptr) note_end_beside_watch(word(block));
    call.perform(call.context);
  }
}

void* record_foreign_realloc(const StartState& start, const ForeignHeap& heap, void* old, std::size_t bytes,
                             const ForeignCall& call) {
  const ForeignRequest request{bytes, 0, AllocApi::Realloc, AllocApi::ForeignRealloc};
  if (old == nullptr) return record_foreign_alloc(start, heap, request, call);
  if (TARE_UNLIKELY(recorder.ends_beside_watch())) note_end_beside_watch(word(old));
  Thread* const thread = ready_thread(start);
  if (thread == nullptr) return call.perform(call.context);
  // A block's octave isn't known before the call, and so neither whether the grown one is to be sampled: two events.
  if (recorder.sampling() || recorder.paused()) {
    record_free(start, word(old), trace::FreeApi::ReallocUnsampled);
    return record_foreign_alloc(start, heap, request, call);
  }
  enter(thread, start);
  SeenContents seen;
  TakenContents taken;
  if (recorder.contents()) seen = contents_of_blocks.take(word(old), taken);
  if (seen.tells()) write_contents(thread, word(old), seen);
  const ReallocBegin begin = begin_realloc(thread, start);
  void* block;
  {
    const Inside inside(thread, start, Gate::InHook);
    block = call.perform(call.context);
  }
  if (TARE_LIKELY(block != nullptr)) {
    const Block grown = block_of(thread, heap, block, request);
    if (recorder.contents() && grown.maker == Maker::Allocator) contents_of_blocks.grown(taken, grown);
    write_realloc(thread, begin, word(old), grown);
    if (TARE_UNLIKELY(recorder.watch_rests())) note_birth_beside_watch(grown);
  } else if (bytes == 0) {
    write_realloc_free(thread, begin, word(old), trace::FreeApi::ReallocToZero);
  } else {
    if (recorder.contents()) contents_of_blocks.put_back(word(old), taken);
    leave_failed_realloc(thread, begin, start, bytes, request.by_malloc);
    return nullptr;
  }
  leave(thread);
  return block;
}

}  // namespace tare::recorder
