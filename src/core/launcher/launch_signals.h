// Signals while a command runs: signals that the launcher ignores, signals that it forwards, and SIGCHLD as a wake-up.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

#include "trace/spool/spool_layout.h"

namespace tare::core {

// Installs handlers; the destructor restores the old ones. A process has at most one instance at a time.
class LaunchSignals {
 public:
  // `snapshot_signal` is counted and not forwarded; 0: no signal requests snapshots.
  LaunchSignals(trace::LauncherControl& control, int snapshot_signal);
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  // A SIGINT that the handler before this one took, and that counts as if it came now.
  void take_earlier_interrupt();
  // Signals meant for the command go to this process from now on; those that came before go there at once.
  void forward_to(pid_t child);
  // The command is gone: the next SIGINT or SIGTERM means the launcher.
  void child_is_gone();
  std::uint32_t snapshots_asked() const;
  // A signal requested the end of waiting for processes that outlive the command.
  bool stop_requested() const;

 private:
  static constexpr int kHandled = 7;
  std::array<struct sigaction, kHandled> before_{};
};

// The futex on control.wake: returns when it isn't `seen` any more, after the time, or on a signal.
void wait_for_wake(trace::LauncherControl& control, std::uint32_t seen, std::uint64_t timeout_ns);

}  // namespace tare::core
