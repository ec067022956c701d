// Start and end of threads: a state block is reused once the kernel reports that its thread is gone.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "recorder/base/syscall.h"
#include "recorder/events/record.h"
#include "recorder/recorder.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

namespace {

// The C library makes 4 rounds of destructors (PTHREAD_DESTRUCTOR_ITERATIONS). A thread whose first event comes in the
// first round learns of its end in the three others. ThreadSanitizer takes the last for itself, and the thread is gone
// then.
#ifdef __SANITIZE_THREAD__
constexpr std::uint32_t kDestructorRounds = 2;
#else
constexpr std::uint32_t kDestructorRounds = 3;
#endif

}  // namespace

bool Recorder::is_gone(const Thread* thread) const {
  return !thread->borrowed && sys::call(SYS_tgkill, process_id_, thread->tid, 0) == -ESRCH;
}

// Returns a block whose thread is gone. A leaving thread may still free memory after its last destructor, so it owns
// its block until its id is unknown to the kernel. Others end without a destructor of ours: by the system call, or when
// their first event came too late for one. Thousands may be alive, so each new thread goes on where the one before
// stopped: with a walk over all blocks, 10,000 threads took 100 s to start.
Thread* Recorder::reusable_block() {
  constexpr int kMostBlocks = 64;
  constexpr int kMostLeaving = 8;  // a system call for each
  constexpr int kMostOthers = 4;
  int leaving = 0;
  int others = 0;
  const Thread* first = nullptr;
  for (int i = 0; i < kMostBlocks; ++i) {
    Thread* const thread = next_look_ != nullptr ? next_look_ : threads_;
    if (thread == nullptr || thread == first) return nullptr;
    if (first == nullptr) first = thread;
    next_look_ = thread->next;
    if (!thread->alive) return thread;
    const bool is_leaving = (thread->attention.load(std::memory_order_relaxed) & kLeaving) != 0;
    if (is_leaving ? ++leaving > kMostLeaving : ++others > kMostOthers) continue;
    if (!is_gone(thread)) continue;
    if (!is_leaving) bury(thread);
    return thread;
  }
  return nullptr;
}

// Does the work of a thread's end on its behalf. Its last event may be half written: that isn't committed.
void Recorder::bury(Thread* thread) {
  if (thread->recording != recording_) return;
  thread->ended = thread->gate.load(std::memory_order_relaxed) != Gate::InHook;
  live_threads_.fetch_sub(1, std::memory_order_relaxed);
  if (thread->chunk == kNoChunk) return;
  constexpr std::uint64_t kNoteWords = 3;
  if (has_room(thread, kNoteWords)) {
    thread->control->busy.store(1, std::memory_order_relaxed);
    write_note(thread, trace::Op::ThreadEnd, 0);
  }
  close_chunk(thread);
}

// Makes `thread` the calling thread's. Its number is that of the thread before, if that one is over in this spool: so
// there are as many numbers as threads at a time, and not as have ever been. Mappings are kept, too. False: no number
// is left.
bool Recorder::assign(Thread* thread) {
  // A late free may have been cut off by the thread's end.
  const bool is_between_events =
      thread->chunk == kNoChunk && thread->gate.load(std::memory_order_relaxed) != Gate::InHook;
  const bool goes_on = thread->ended && is_between_events && thread->recording == recording_;
  if (!goes_on) {
    std::atomic<std::uint32_t>& given = spool_->header()->thread_count;
    if (given.load(std::memory_order_relaxed) >= trace::kMaxThreads) return false;
    thread->id = given.fetch_add(1, std::memory_order_acq_rel);
    thread->events = 0;
    thread->newest_stamp = 0;
    thread->next_chunk = 0;
    thread->dropped = 0;
  }
  thread->ended = false;
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
  thread->attention.store(0, std::memory_order_relaxed);
  thread->cursor = thread->end = thread->begin = nullptr;
  thread->control = &thread->idle_control;
  thread->gap_start = 0;
  thread->suppressed_depth = 0;
  thread->interrupted_sp = 0;
  thread->chunk = kNoChunk;
  thread->recording = recording_;
  thread->tid = sys::gettid();
  thread->borrowed = static_cast<std::uint32_t>(sys::getpid()) != process_id_;
  thread->exit_rounds = 0;
  thread->fork_stamp = 0;
  thread->said_start = false;
  thread->alive = true;
  if (sampling() || watch_rests()) {
    sampler.seed(thread->sampling, attached_++ + (forks_ << 32));
    sampler.enlist(thread->sampling);
  }
  thread->unwinder.reset();  // the dead thread's frames and readable pages may be gone
  if (thread->nested != nullptr) thread->nested->clear();

  // More threads than chunks would leave none to drain: each holds one open.
  const std::uint32_t threads = live_threads_.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint32_t wanted = 2 * threads + 16;
  if (wanted > spool_->chunk_limit()) spool_->allow_chunks(wanted);
  return true;
}

Thread* Recorder::attach_thread() {
  if (phase_.load(std::memory_order_acquire) != Phase::Recording) return nullptr;
  const sys::SignalsBlocked blocked;
  if (this_thread != nullptr) return this_thread;                  // a signal handler was faster
  if (libc_entries.key_create == nullptr) look_up_libc_entries();  // libpthread may have been loaded since the start
  if (!lock_.lock()) return nullptr;
  make_exit_key();
  if (phase_.load(std::memory_order_acquire) != Phase::Recording) {  // see restart()
    lock_.unlock();
    return nullptr;
  }
  Thread* thread = reusable_block();
  if (thread == nullptr) {
    thread = static_cast<Thread*>(reserve_zeroed(sizeof(Thread)));
    if (thread == nullptr) {
      lock_.unlock();
      return nullptr;
    }
    thread->next = threads_;
    threads_ = thread;
  }
  if (!assign(thread)) {
    spool_->header()->dropped_events.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    return nullptr;
  }
  lock_.unlock();
  this_thread = thread;
  if (has_key_) libc_entries.set_specific(key_, thread);
  return thread;
}

void Recorder::on_thread_exit(void* state) {
  Thread* thread = static_cast<Thread*>(state);
  // Other keys' destructors may still allocate: wait for the last round.
  if (recorder.alive() && thread->exit_rounds + 1 < kDestructorRounds) {
    ++thread->exit_rounds;
    libc_entries.set_specific(recorder.key_, thread);
    return;
  }
  if (recorder.alive()) recorder.detach_thread(thread);
}

void Recorder::detach_thread(Thread* thread) {
  const sys::SignalsBlocked blocked;
  if (thread->recording != recording_) {  // the thread had no event in this one
    thread->attention.fetch_or(kLeaving, std::memory_order_relaxed);
    return;
  }
  thread->gate.store(Gate::InHook, std::memory_order_relaxed);
  if (!watching()) write_note(thread, trace::Op::ThreadEnd, 0);
  close_chunk(thread);
  thread->ended = true;
  live_threads_.fetch_sub(1, std::memory_order_relaxed);
  thread->attention.fetch_or(kLeaving, std::memory_order_relaxed);
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
}

}  // namespace tare::recorder
