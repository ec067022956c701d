// Signals while a command runs: see launch_signals.h.
#include "core/launcher/launch_signals.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>

namespace tare::core {

namespace {

// State that signal handlers access. Set before they are installed.
std::atomic<trace::LauncherControl*> g_control{nullptr};
std::atomic<pid_t> g_child{0};
std::atomic<bool> g_child_gone{false};
std::atomic<bool> g_stop{false};
std::atomic<int> g_snapshot_signal{0};
std::atomic<std::uint32_t> g_snapshots{0};
std::atomic<int> g_early_signal{0};  // came before the command had a process

// SIGUSR1 and SIGUSR2 mean something to servers (reopen logs, dump state) and would kill us.
constexpr int kSignals[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

void wake_self() {
  trace::LauncherControl* control = g_control.load();
  if (control == nullptr) return;
  control->wake.fetch_add(1);  // a wait that is about to begin sees it; one under way is woken
  ::syscall(SYS_futex, &control->wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Without a command to send it to, it is for us.
void take_early_signal() {
  if (!g_child_gone.load()) return;
  if (const int signal = g_early_signal.exchange(0); signal != 0 && signal != SIGUSR1 && signal != SIGUSR2) {
    g_stop.store(true);
  }
}

void on_signal(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  if (signal == g_snapshot_signal.load()) {
    g_snapshots.fetch_add(1);
  } else if (signal != SIGCHLD) {
    if (g_child_gone.load()) {
      if (signal != SIGUSR1 && signal != SIGUSR2) g_stop.store(true);
    } else if (const pid_t child = g_child.load(); child > 0) {
      // From the terminal it went to the whole foreground group, the command included.
      const bool from_terminal = info->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
      if (!from_terminal && info->si_pid != child) ::kill(child, signal);
    } else {
      g_early_signal.store(signal);
      take_early_signal();  // the other thread has just checked this place
    }
  }
  wake_self();
  errno = saved_errno;
}

}  // namespace

LaunchSignals::LaunchSignals(trace::LauncherControl& control, int snapshot_signal) {
  g_snapshot_signal = snapshot_signal;
  g_snapshots = 0;
  g_child = 0;
  g_child_gone = false;
  g_stop = false;
  g_early_signal = 0;
  g_control = &control;
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  for (int i = 0; i < kHandled; ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    // A signal that was ignored (as with nohup) stays ignored, for the command too.
    if (kSignals[i] != SIGCHLD && before_[i].sa_handler == SIG_IGN) continue;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

LaunchSignals::~LaunchSignals() {
  for (int i = 0; i < kHandled; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  g_control = nullptr;
}

void LaunchSignals::take_earlier_interrupt() { g_early_signal = SIGINT; }

void LaunchSignals::forward_to(pid_t child) {
  g_child = child;
  if (const int signal = g_early_signal.exchange(0); signal != 0) ::kill(child, signal);
}

void LaunchSignals::child_is_gone() {
  g_child_gone = true;
  take_early_signal();
}
std::uint32_t LaunchSignals::snapshots_asked() const { return g_snapshots; }
bool LaunchSignals::stop_requested() const { return g_stop; }

void wait_for_wake(trace::LauncherControl& control, std::uint32_t seen, std::uint64_t timeout_ns) {
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  control.sleeping.store(1);
  // Between the check of `wake` and here a program may have bumped it: the kernel compares again.
  ::syscall(SYS_futex, &control.wake, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  control.sleeping.store(0);
}

}  // namespace tare::core
