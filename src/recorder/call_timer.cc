// Exchanging entries of the table of real functions: see call_timer.h.
#include "recorder/call_timer.h"

#include "recorder/real.h"
#include "recorder/record.h"

namespace tare::recorder {
namespace {

using Malloc = void* (*)(std::size_t);
using Calloc = void* (*)(std::size_t, std::size_t);

Malloc real_malloc = nullptr;
Calloc real_calloc = nullptr;

template <typename Function>
Function load(const Function& place) {
  return __atomic_load_n(&place, __ATOMIC_RELAXED);
}
template <typename Function>
void store(Function& place, Function function) {
  __atomic_store_n(&place, function, __ATOMIC_RELAXED);
}

// Calls inside a hook (the recorder's own, an operator's that is recorded as such) are another event's or nobody's.
void keep(const void* block, std::uint64_t ticks) {
  Thread* thread = this_thread;
  if (block == nullptr || thread == nullptr || thread->gate.load(std::memory_order_relaxed) != Gate::Ready) return;
  thread->timed_block = reinterpret_cast<std::uint64_t>(block);
  thread->timed_ticks = ticks;
  thread->attention.fetch_or(kTimed, std::memory_order_relaxed);
}

// A recording may have ended since the table was changed, because seccomp's strict mode takes the clock away.
void* timed_malloc(std::size_t bytes) {
  const Malloc function = load(real_malloc);
  store(real.malloc, function);
  if (!recorder.alive_and_exact()) return function(bytes);
  const std::uint64_t begin = stamp_after_loads();
  void* block = function(bytes);
  keep(block, stamp_after_loads() - begin);
  return block;
}

void* timed_calloc(std::size_t count, std::size_t bytes) {
  const Calloc function = load(real_calloc);
  store(real.calloc, function);
  if (!recorder.alive_and_exact()) return function(count, bytes);
  const std::uint64_t begin = stamp_after_loads();
  void* block = function(count, bytes);
  keep(block, stamp_after_loads() - begin);
  return block;
}

}  // namespace

void time_next_call() {
  if (!recorder.alive_and_exact()) return;
  if (const Malloc now = load(real.malloc); now != timed_malloc) {
    store(real_malloc, now);
    store<Malloc>(real.malloc, timed_malloc);
  }
  if (const Calloc now = load(real.calloc); now != timed_calloc) {
    store(real_calloc, now);
    store<Calloc>(real.calloc, timed_calloc);
  }
}

void write_call_cost(Thread* thread) {
  thread->attention.fetch_and(~std::uint32_t{kTimed}, std::memory_order_relaxed);
  const std::uint64_t block = thread->timed_block;
  thread->timed_block = 0;                    // who looks for pointers shall find none here
  if (thread->newest_block != block) return;  // its event was dropped, or the hook was given up
  thread->gate.store(Gate::InHook, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  write_note(thread, trace::Op::CallCost, thread->timed_ticks);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
}

}  // namespace tare::recorder
