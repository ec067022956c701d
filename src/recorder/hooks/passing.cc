// malloc, calloc, realloc and free where most calls aren't recorded: the recorder samples, or it sleeps. A call that
// isn't recorded is a jump to the real function, decided by what is requested: without a frame, a look at the block or
// work after the call. This file is compiled without frame pointers; what does need a frame is in hooks.cc.
//
// The four symbols are jumps through a table, which leads here or to hooks.cc: recording exactly costs one more jump,
// and nothing is tested.
#include "recorder/hooks/passing.h"

#include <cstddef>
#include <cstdint>

#include "recorder/events/record.h"
#include "recorder/hooks/real.h"
#include "recorder/hooks/recorded_hooks.h"

namespace tare::recorder {
namespace {

TARE_INLINE std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Null: not a sampling recorder's. A paused one's word has another value, and so has a forked child's.
TARE_INLINE Thread* sampling_thread() { return TARE_LIKELY(recorder.alive_and_sampling()) ? this_thread : nullptr; }

void* passing_malloc(std::size_t bytes) {
  if (Thread* const thread = sampling_thread(); TARE_LIKELY(thread != nullptr)) {
    if (TARE_UNLIKELY(bytes > Sampler::kMostEarlyBytes)) return tare_recorded_malloc(bytes);
    if (TARE_LIKELY(sampler.passes_by(thread->sampling, Sampler::request_octave(bytes)))) return real.malloc(bytes);
    return tare_decided_malloc(bytes);
  }
  return recorder.paused() ? real.malloc(bytes) : tare_recorded_malloc(bytes);
}

void* passing_calloc(std::size_t count, std::size_t bytes) {
  if (Thread* const thread = sampling_thread(); TARE_LIKELY(thread != nullptr)) {
    std::size_t total;
    if (TARE_UNLIKELY(__builtin_mul_overflow(count, bytes, &total) || total > Sampler::kMostEarlyBytes))
      return tare_recorded_calloc(count, bytes);
    if (TARE_LIKELY(sampler.passes_by(thread->sampling, Sampler::request_octave(total))))
      return real.calloc(count, bytes);
    return tare_decided_calloc(count, bytes);
  }
  return recorder.paused() ? real.calloc(count, bytes) : tare_recorded_calloc(count, bytes);
}

// Within its octave, a block that isn't sampled stays so.
void* passing_realloc(void* old, std::size_t bytes) {
  if (Thread* const thread = sampling_thread(); TARE_LIKELY(thread != nullptr && old != nullptr)) {
    const bool is_small = bytes - 1 < Sampler::kMostEarlyBytes;  // and not zero: that frees
    const bool may_pass = thread->sampling.countdown >= 0;       // see Sampler::stop_all()
    if (is_small && may_pass && !sampler.sampled.may_hold_at_first_sight(word(old)) &&
        Sampler::octave(usable_bytes_by_header(old)) == Sampler::request_octave(bytes)) {
      Sampler::count_allocation(thread->sampling);
      return real.realloc(old, bytes);
    }
  }
  return tare_recorded_realloc(old, bytes);
}

// No recorded block passes, whatever the recorder does: the filter holds all of them.
void passing_free(void* block) {
  if (TARE_UNLIKELY(sampler.sampled.may_hold_at_first_sight(word(block)))) return tare_recorded_free(block);
  Sampler::count_free();
  real.free(block);
}

// Asleep, no block is known, so frees go straight to the real function.
void* sleeping_malloc(std::size_t bytes) { return recorder.wakes() ? tare_recorded_malloc(bytes) : real.malloc(bytes); }
void* sleeping_calloc(std::size_t count, std::size_t bytes) {
  return recorder.wakes() ? tare_recorded_calloc(count, bytes) : real.calloc(count, bytes);
}
void* sleeping_realloc(void* old, std::size_t bytes) {
  return recorder.wakes() ? tare_recorded_realloc(old, bytes) : real.realloc(old, bytes);
}

struct HookTable {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
};
extern HookTable hook_table __asm__("tare_hook_table");
__attribute__((visibility("hidden"), used)) constinit HookTable hook_table = {
    tare_recorded_malloc, tare_recorded_calloc, tare_recorded_realloc, tare_recorded_free};

template <typename Function>
void store(Function& place, Function function) {
  __atomic_store_n(&place, function, __ATOMIC_RELEASE);
}

}  // namespace

// Called while no block is recorded: a thread that is about to jump by an old entry makes or frees a block that the
// recording doesn't know.
void tare_choose_hooks(Hooks hooks) {
  HookTable table = {tare_recorded_malloc, tare_recorded_calloc, tare_recorded_realloc, tare_recorded_free};
  if (hooks == Hooks::Sleeping) table = {sleeping_malloc, sleeping_calloc, sleeping_realloc, real.free};
  if (hooks == Hooks::Passing) table = {passing_malloc, passing_calloc, passing_realloc, passing_free};
  if (hooks == Hooks::FreesPassing) table.free = passing_free;
  store(hook_table.free, table.free);
  store(hook_table.malloc, table.malloc);
  store(hook_table.calloc, table.calloc);
  store(hook_table.realloc, table.realloc);
}

// Jumping leaves the caller's frame as it is.
#define TARE_JUMP(symbol, offset)                                             \
  __asm__(                                                                    \
      ".pushsection .text\n"                                                  \
      ".globl " #symbol "\n.type " #symbol ",@function\n.p2align 4\n" #symbol \
      ":\n.cfi_startproc\n jmp *tare_hook_table+" #offset                     \
      "(%rip)\n.cfi_endproc\n"                                                \
      ".size " #symbol ", .-" #symbol "\n.popsection\n");
TARE_JUMP(malloc, 0)
TARE_JUMP(calloc, 8)
TARE_JUMP(realloc, 16)
TARE_JUMP(free, 24)

}  // namespace tare::recorder
