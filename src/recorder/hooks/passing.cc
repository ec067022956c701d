// The symbols malloc, calloc, realloc and free. A call that a sampling or sleeping recorder doesn't record is a jump to
// the real function, decided by what is requested: without a frame, a look at the block or work after the call. This
// file is compiled without frame pointers; what does need a frame is in hooks.cc.
//
// The case of sampling is tested first and in place, because a jump through a table costs 0.5 ns. All others are jumps
// through a table: recording exactly costs four instructions a call.
#include "recorder/hooks/passing.h"

#include <cstddef>
#include <cstdint>

#include "recorder/base/address.h"
#include "recorder/events/record.h"
#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"
#include "recorder/hooks/recorded_hooks.h"

namespace tare::recorder {
namespace {

struct HookTable {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
};
constexpr HookTable kRecording = {tare_recorded_malloc, tare_recorded_calloc, tare_recorded_realloc,
                                  tare_recorded_free};

void* sleeping_malloc(std::size_t bytes) { return recorder.wakes() ? tare_recorded_malloc(bytes) : real.malloc(bytes); }
void* sleeping_calloc(std::size_t count, std::size_t bytes) {
  return recorder.wakes() ? tare_recorded_calloc(count, bytes) : real.calloc(count, bytes);
}
void* sleeping_realloc(void* old, std::size_t bytes) {
  return recorder.wakes() ? tare_recorded_realloc(old, bytes) : real.realloc(old, bytes);
}
// The first frees of a recording end blocks that were born before: reports count them.
void sleeping_free(void* block) { recorder.wakes() ? tare_recorded_free(block) : real.free(block); }
constexpr HookTable kSleeping = {sleeping_malloc, sleeping_calloc, sleeping_realloc, sleeping_free};

// Null: calls aren't decided before they are made. The word is another one while paused and in a forked child.
TARE_INLINE Thread* early_thread() { return TARE_LIKELY(recorder.decides_early()) ? this_thread : nullptr; }

// Of a sampling recorder, where the hooks below let no call pass: most are larger. If one that passed fails, it's made
// again in order to record that.
void* sampling_malloc(std::size_t bytes) {
  Thread* const thread = early_thread();
  if (TARE_LIKELY(thread != nullptr) && TARE_LIKELY(Sampler::is_octave_certain(bytes))) {
    if (!sampler.passes_by(thread->sampling, Sampler::request_octave(bytes))) return tare_decided_malloc(bytes);
    void* const block = real.malloc(bytes);
    return TARE_LIKELY(block != nullptr) ? block : tare_recorded_malloc(bytes);
  }
  return recorder.paused() ? real.malloc(bytes) : tare_recorded_malloc(bytes);
}
void* sampling_calloc(std::size_t count, std::size_t bytes) {
  Thread* const thread = early_thread();
  std::size_t total;
  if (TARE_LIKELY(thread != nullptr) && TARE_LIKELY(!__builtin_mul_overflow(count, bytes, &total)) &&
      TARE_LIKELY(Sampler::is_octave_certain(total))) {
    if (!sampler.passes_by(thread->sampling, Sampler::request_octave(total))) return tare_decided_calloc(count, bytes);
    void* const block = real.calloc(count, bytes);
    return TARE_LIKELY(block != nullptr) ? block : tare_recorded_calloc(count, bytes);
  }
  return recorder.paused() ? real.calloc(count, bytes) : tare_recorded_calloc(count, bytes);
}
void sampling_free(void* block) {
  if (block == nullptr) return;  // the filter never rules it out
  if (!recorder.alive() || sampler.sampled.may_hold_at_first_sight(word(block))) return tare_recorded_free(block);
  Sampler::count_free();
  real.free(block);
}
constexpr HookTable kSampling = {sampling_malloc, sampling_calloc, tare_recorded_realloc, sampling_free};

constinit HookTable hook_table = kRecording;

template <typename Function>
void store(Function& place, Function function) {
  __atomic_store_n(&place, function, __ATOMIC_RELEASE);
}

}  // namespace

// Called while no block is recorded: a thread that is about to jump by an old entry makes or frees a block that the
// recording doesn't know.
void tare_choose_hooks(Hooks hooks) {
  const HookTable& table = hooks == Hooks::Sleeping ? kSleeping : hooks == Hooks::Sampling ? kSampling : kRecording;
  store(hook_table.free, table.free);
  store(hook_table.malloc, table.malloc);
  store(hook_table.calloc, table.calloc);
  store(hook_table.realloc, table.realloc);
}

TARE_HOOK_FUNCTION(void*, malloc, (std::size_t bytes)) {
  Thread* const thread = early_thread();
  if (TARE_LIKELY(thread != nullptr) && TARE_LIKELY(bytes <= Sampler::kMostEarlyBytes)) {
    if (TARE_LIKELY(sampler.passes_by(thread->sampling, Sampler::request_octave(bytes)))) return real.malloc(bytes);
    return tare_decided_malloc(bytes);
  }
  return hook_table.malloc(bytes);
}

TARE_HOOK_FUNCTION(void*, calloc, (std::size_t count, std::size_t bytes)) {
  Thread* const thread = early_thread();
  std::size_t total;
  if (TARE_UNLIKELY(__builtin_mul_overflow(count, bytes, &total))) return hook_table.calloc(count, bytes);
  if (TARE_LIKELY(thread != nullptr) && TARE_LIKELY(total <= Sampler::kMostEarlyBytes)) {
    if (TARE_LIKELY(sampler.passes_by(thread->sampling, Sampler::request_octave(total))))
      return real.calloc(count, bytes);
    return tare_decided_calloc(count, bytes);
  }
  return hook_table.calloc(count, bytes);
}

// A block that isn't sampled stays so where it keeps its octave or shrinks, and mostly where it grows.
TARE_HOOK_FUNCTION(void*, realloc, (void* old, std::size_t bytes)) {
  Thread* const thread = early_thread();
  const bool is_small = bytes - 1 < Sampler::kMostEarlyBytes;  // and not zero: that frees
  if (TARE_LIKELY(thread != nullptr) && TARE_LIKELY(is_small)) {
    const int after = Sampler::request_octave(bytes);
    if (old == nullptr) {
      if (TARE_LIKELY(sampler.passes_by(thread->sampling, after))) return real.realloc(nullptr, bytes);
      return tare_decided_realloc(bytes);
    }
    if (TARE_LIKELY(!sampler.sampled.may_hold(word(old))) &&
        TARE_LIKELY(sampler.realloc_passes_by(thread->sampling, Sampler::octave(usable_bytes_by_header(old)), after))) {
      return real.realloc(old, bytes);
    }
  }
  return hook_table.realloc(old, bytes);
}

// No recorded block passes: the filter holds all of them.
TARE_HOOK_FUNCTION(void, free, (void* block)) {
  if (TARE_LIKELY(recorder.decides_early()) && TARE_LIKELY(!sampler.sampled.may_hold_at_first_sight(word(block)))) {
    Sampler::count_free();
    return real.free(block);
  }
  hook_table.free(block);
}

}  // namespace tare::recorder
