// Asking the launcher to look at the heap before the process exits.
#include "recorder/recorder.h"
#include "recorder/stamp.h"
#include "recorder/syscall.h"
#include "recorder/thread.h"
#include "trace/moment.h"

namespace tare::recorder {

namespace {

// What an exit may be held up: by a launcher that doesn't answer, and by one that looks at a large heap (some 2 GB/s).
constexpr std::uint64_t kLongestAnswerNs = 2'000'000'000;
constexpr std::uint64_t kLongestLookNs = 60'000'000'000;
constexpr std::int64_t kLifeCheckNs = 100'000'000;

}  // namespace

void Recorder::ask_for_exit_moment() {
  if (!alive() || !launched_ || !launcher_.wants_exit_moments()) return;
  if (static_cast<std::uint32_t>(sys::getpid()) != process_id_) return;  // the child of a vfork leaves, not we
  if (asked_for_exit_.exchange(true, std::memory_order_relaxed)) return;
  trace::SpoolHeader& header = *spool_->header();
  const std::uint32_t flags = header.flags.load(std::memory_order_relaxed);
  if ((flags & (trace::kSpoolOrphaned | trace::kSpoolUnheard)) != 0) return;
  if (Thread* thread = this_thread; thread != nullptr) thread->newest_block = 0;  // no pointer of the program's
  header.moment_kind.store(static_cast<std::uint32_t>(trace::MomentKind::Exit), std::memory_order_relaxed);
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
