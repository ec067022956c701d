// Requests a snapshot from the launcher: before the process exits, or when the program calls for one.
#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/events/thread.h"
#include "recorder/recorder.h"
#include "trace/model/moment.h"

namespace tare::recorder {

namespace {

// The longest delay of an exit: by a launcher that doesn't answer, and by one that reads a large heap (about 2 GB/s).
constexpr std::uint64_t kLongestAnswerNs = 2'000'000'000;
constexpr std::uint64_t kLongestLookNs = 60'000'000'000;
constexpr std::int64_t kLifeCheckNs = 100'000'000;

}  // namespace

bool Recorder::can_ask_for_moment() const {
  if (!alive() || detached() || !launched_ || !launcher_.connected()) return false;
  if (static_cast<std::uint32_t>(sys::getpid()) != process_id_) return false;  // the child of a vfork
  const std::uint32_t flags = spool_->header()->flags.load(std::memory_order_relaxed);
  return (flags & (trace::kSpoolOrphaned | trace::kSpoolUnheard)) == 0;
}

void Recorder::request_exit_snapshot() {
  if (!alive() || !launcher_.wants_exit_moments() || !can_ask_for_moment()) return;
  if (asked_for_exit_.exchange(true, std::memory_order_relaxed)) return;
  request_snapshot(trace::MomentKind::Exit, {0, 0});
}

void Recorder::request_named_snapshot(trace::StringRef name) {
  if (can_ask_for_moment()) request_snapshot(trace::MomentKind::Request, name);
}

// One thread at a time: a second thread waits for the first, as long as the launcher may take to begin.
void Recorder::request_snapshot(trace::MomentKind kind, trace::StringRef name) {
  constexpr std::int64_t kPauseNs = 1'000'000;
  const std::uint64_t begin_to_ask = monotonic_ns();
  while (asking_.exchange(true, std::memory_order_acquire)) {
    if (monotonic_ns() - begin_to_ask > kLongestAnswerNs) return;
    sys::sleep_ns(kPauseNs);
  }
  wait_for_moment(kind, name);
  asking_.store(false, std::memory_order_release);
}

void Recorder::wait_for_moment(trace::MomentKind kind, trace::StringRef name) {
  trace::SpoolHeader& header = *spool_->header();
  if (Thread* thread = this_thread; thread != nullptr) thread->newest_block = 0;  // no pointer of the program's
  header.moment_kind.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
  header.moment_name = name;
  const std::uint32_t asked = header.moment_asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  launcher_.wake();
  const std::uint64_t begin = monotonic_ns();
  while (true) {
    const std::uint32_t done = header.moment_done.load(std::memory_order_acquire);
    if (done == asked) return;
    const std::uint64_t waited = monotonic_ns() - begin;
    const bool begun = header.moment_begun.load(std::memory_order_acquire) == asked;
    if (waited > (begun ? kLongestLookNs : kLongestAnswerNs)) return;
    if (waited > static_cast<std::uint64_t>(kLifeCheckNs) &&
        (launcher_.life() == LauncherLife::Dead || launcher_.is_stopped()))
      return;
    sys::Timespec timeout{0, kLifeCheckNs};
    constexpr int kFutexWait = 0;  // not FUTEX_PRIVATE: another process answers
    sys::call(SYS_futex, sys::word(&header.moment_done), kFutexWait, done, sys::word(&timeout));
  }
}

}  // namespace tare::recorder
