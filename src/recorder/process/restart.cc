// The next recording of a process that was recorded before: another launcher attached to it.
//
// Threads keep their state of the recording before until their next event, and its spool stays mapped until yet another
// recording begins. A thread that was stopped between testing the recorder's word and writing its event writes the
// event into that spool, which has no reader.
#include <cstring>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/events/contents.h"
#include "recorder/events/record.h"
#include "recorder/recorder.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

namespace {

// A hook ends within microseconds, or waits for the allocator's lock; one that a handler left by longjmp looks as if it
// never did.
constexpr std::uint64_t kLongestWaitNs = 1'000'000'000;

}  // namespace

void Recorder::take_orders() {
  orders_taken_ = rendezvous.orders;
  if (rendezvous.directory[0] != '/') return;
  if (watching()) rest_watch(*parent_spool_);
  if (rendezvous.sample_bytes != 0) give_up_watch();  // the sampler and its set have another distance
  launched_ = true;
  Text(directory_, sizeof(directory_)).add(rendezvous.directory);
  sample_bytes_ = rendezvous.sample_bytes;
  free_stacks_ = (rendezvous.spool_flags & trace::kSpoolFreeStacks) != 0;
  wants_contents_ = (rendezvous.spool_flags & trace::kSpoolContents) != 0;
  launcher_.connect(directory_);
}

// No thread is inside a hook that began before.
bool Recorder::is_quiet() {
  if (restart_since_ns_ == 0) restart_since_ns_ = monotonic_ns();
  if (monotonic_ns() - restart_since_ns_ > kLongestWaitNs) return true;
  for (const Thread* thread = threads_; thread != nullptr; thread = thread->next) {
    const Gate gate = thread->gate.load(std::memory_order_acquire);
    if (thread->alive && gate != Gate::Ready && gate != Gate::Stale) return false;
  }
  return true;
}

// If its hook continues after all, it finds that its state is stale (kStale); a hook that it interrupts finds the epoch
// changed.
void Recorder::retire_threads() {
  for (Thread* thread = threads_; thread != nullptr; thread = thread->next) {
    if (!thread->alive) continue;
    thread->attention.fetch_or(kStale, std::memory_order_acq_rel);
    Sampler::give_back(thread->sampling, 0);  // no decision without a test of the gate
    Gate ready = Gate::Ready;
    if (!thread->gate.compare_exchange_strong(ready, Gate::Stale, std::memory_order_acq_rel) && ready != Gate::Stale)
      ++thread->epoch;
  }
}

Spool* Recorder::unused_spool() {
  inherited_spool_.store(nullptr, std::memory_order_relaxed);
  const Spool* const resting = resting_spool_.load(std::memory_order_relaxed);
  Spool* other = &spools_[0];
  while (other == spool_ || other == resting) ++other;
  other->abandon();  // the recording before the one that ends now
  return other;
}

// Threads get their state in the next one at their next event.
void Recorder::leave_recording() {
  ++recording_;
  retire_threads();
  dropping_.store(false, std::memory_order_relaxed);
  asked_for_exit_.store(false, std::memory_order_relaxed);
  asking_.store(false, std::memory_order_relaxed);
  live_threads_.store(0, std::memory_order_relaxed);
  said_full_ = false;
}

void Recorder::restart() {
  Phase recording = Phase::Recording;
  if (!phase_.compare_exchange_strong(recording, Phase::Starting, std::memory_order_acq_rel)) return;
  const sys::SignalsBlocked blocked;
  if (rendezvous.orders == orders_taken_)  // another thread was faster
    return phase_.store(Phase::Recording, std::memory_order_release);
  const bool forked = wiped_page_[kOwnWord] == 0;
  const bool borrowed = !forked && static_cast<std::uint32_t>(sys::getpid()) != process_id_;  // the child of a vfork
  if (forked) {
    ++forks_;
    lock_.reset();
    leave_parents_threads();
  }
  // A thread that was about to enter the ending recording has entered it once the lock is free. Later threads read the
  // phase.
  if (borrowed || !is_quiet() || !lock_.lock()) return phase_.store(Phase::Recording, std::memory_order_release);
  lock_.unlock();
  restart_since_ns_ = 0;
  if (launched_ && launcher_.life() == LauncherLife::Dead) {
    spool_->header()->flags.fetch_or(trace::kSpoolOrphaned, std::memory_order_release);
  }
  leave_recording();
  parent_spool_ = spool_;
  // Blocks older than this recording are unknown to it, even if an earlier one had them.
  asleep_since_ns_ = first_asleep_ns_ != 0 ? first_asleep_ns_ : spool_->header()->start_monotonic_ns;
  slept_ = true;
  spool_ = unused_spool();
  take_orders();
  if (!make_spool(nullptr)) {
    spool_ = parent_spool_;
    parent_spool_ = nullptr;
    rendezvous.wish.store(trace::RecorderWish::Detached, std::memory_order_release);  // until the next orders
    phase_.store(Phase::Recording, std::memory_order_release);
  }
}

bool Recorder::renew(Thread* thread) {
  const sys::SignalsBlocked blocked;
  if (!lock_.lock()) return false;
  if (phase_.load(std::memory_order_acquire) != Phase::Recording) {
    lock_.unlock();
    return false;
  }
  const std::uint32_t leaving = thread->attention.load(std::memory_order_relaxed) & kLeaving;
  if (thread->gate.load(std::memory_order_relaxed) == Gate::Stale) assign(thread);  // else a handler was faster
  thread->attention.fetch_or(leaving, std::memory_order_relaxed);
  lock_.unlock();
  return true;
}

}  // namespace tare::recorder
