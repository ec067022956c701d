// Exchanging entries of the table of real functions: see call_timer.h.
#include "recorder/events/call_timer.h"

#include <atomic>
#include <type_traits>

#include "recorder/base/address.h"
#include "recorder/events/nested.h"
#include "recorder/events/record.h"
#include "recorder/hooks/real.h"

namespace tare::recorder {
namespace {

template <typename Function>
Function load(const Function& place) {
  return __atomic_load_n(&place, __ATOMIC_RELAXED);
}
template <typename Function>
void store(Function& place, Function function) {
  __atomic_store_n(&place, function, __ATOMIC_RELAXED);
}

// Calls inside a hook (the recorder's own, or those of a recorded operator) belong to another event or to none.
bool is_between_events(const Thread* thread) {
  return thread != nullptr && thread->gate.load(std::memory_order_relaxed) == Gate::Ready;
}

// An allocation's event comes after the call: the note is written when that is.
void keep(const void* block, std::uint64_t ticks) {
  Thread* thread = this_thread;
  if (block == nullptr || !is_between_events(thread)) return;
  thread->timed_block = word(block);
  thread->timed_ticks = ticks;
  thread->attention.fetch_or(kTimed, std::memory_order_relaxed);
}

// True if the last words that the thread wrote are the free of this block: the free may have been dropped, and a
// handler or the allocator's own munmap may have written another event since. The program's hooks shall not have to
// leave it anywhere.
bool has_just_freed(const Thread* thread, std::uint64_t address) {
  if (thread->cursor == nullptr) return false;
  const std::uint64_t event = free_word(address, trace::FreeApi::Free);
  const auto words = thread->cursor - thread->begin;
  return (words >= 1 && thread->cursor[-1] == event) || (words >= 2 && thread->cursor[-2] == (event | kStampedBit));
}

// A free's event came before the call.
void tell_free(const StartState& start, std::uint64_t address, std::uint64_t ticks) {
  Thread* thread = this_thread;
  if (!is_between_events(thread) || !recorder.alive_and_exact() || !has_just_freed(thread, address)) return;
  enter(thread, start);
  write_note(thread, trace::Op::CallCost, ticks, trace::kCostOfFree);
  leave(thread);
}

// Replaces one entry of the table for one call.
template <auto kEntry, typename Result, typename... Parameters>
class Timed {
 public:
  static void arm() {
    const Function now = load(real.*kEntry);
    if (now == &call) return;
    store(replaced_, now);
    store<Function>(real.*kEntry, &call);
  }

 private:
  using Function = Result (*)(Parameters...);

  // A recording may have ended since the table was changed, because seccomp's strict mode takes the clock away.
  static Result call(Parameters... parameters) {
    const Function function = load(replaced_);
    store(real.*kEntry, function);
    if (!recorder.alive_and_exact()) return function(parameters...);
    const std::uint64_t begin = stamp_after_loads();
    if constexpr (std::is_void_v<Result>) {
      function(parameters...);
      tell_free(TARE_HERE, word(parameters...), stamp_after_loads() - begin);
    } else {
      Result block = function(parameters...);
      keep(block, stamp_after_loads() - begin);
      return block;
    }
  }

  static inline constinit Function replaced_ = nullptr;
};

using TimedMalloc = Timed<&RealFunctions::malloc, void*, std::size_t>;
using TimedCalloc = Timed<&RealFunctions::calloc, void*, std::size_t, std::size_t>;
using TimedFree = Timed<&RealFunctions::free, void, void*>;

}  // namespace

void time_next_call() {
  if (!recorder.alive_and_exact()) return;
  // In turn: with notes of both each quarter of a millisecond git's 1.98 bytes an event became 2.07. With stacks of
  // frees, only allocations are timed: the words of such a free end with its stack, so that they aren't recognised.
  static std::atomic<std::uint32_t> turns = 0;
  if (!recorder.free_stacks() && turns.fetch_add(1, std::memory_order_relaxed) % 2 != 0) return TimedFree::arm();
  TimedMalloc::arm();
  TimedCalloc::arm();
}

void write_call_cost(Thread* thread) {
  thread->attention.fetch_and(~std::uint32_t{kTimed}, std::memory_order_relaxed);
  const std::uint64_t block = thread->timed_block;
  thread->timed_block = 0;                    // snapshots that look for pointers must find none here
  if (thread->newest_block != block) return;  // its event was dropped, or the hook was left
  if (has_queued(thread)) return;             // these come first
  thread->gate.store(Gate::InHook, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (thread->control->busy.load(std::memory_order_relaxed) == 0) {  // a handler came since: the frame is its own
    thread->outer_sp = kNoFrame;
    thread->control->busy.store(1, std::memory_order_relaxed);
  }
  write_note(thread, trace::Op::CallCost, thread->timed_ticks);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
}

}  // namespace tare::recorder
