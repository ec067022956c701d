// Holds all threads of a process stopped by ptrace, for the lifetime of the object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "core/snapshot/roots.h"
#include "trace/base/result.h"

namespace tare::core {

// Needs no help of the process. Another tracer (a debugger), or missing permission, is an error. All calls must come
// from one thread: the kernel's rule for tracers. Calls that were waiting in the kernel are taken up again, but for the
// few that end with EINTR when a process is stopped (epoll_wait among them: signal(7)).
class FrozenProcess {
 public:
  static Result<FrozenProcess> freeze(pid_t pid);  // of no threads where it has ended
  FrozenProcess(FrozenProcess&& other) noexcept;
  FrozenProcess& operator=(FrozenProcess&&) = delete;
  ~FrozenProcess();  // lets all go on

  // Releases threads that stopped after their process was released: one inside vfork stops when its child is done. Call
  // it repeatedly on the same thread until it returns false.
  static bool release_late_stops();

  // The held thread that has this number in its own pid namespace, as the numbers of this process's namespace have it;
  // 0 where there is none.
  pid_t thread_numbered(pid_t own_number) const;
  // Lets one thread (the kernel's number) run until `is_far_enough` returns true, for a limited time, and stops it
  // again: on a busy machine it gets a processor only after milliseconds. False: it is gone.
  bool let_run(pid_t tid, const std::function<bool()>& is_far_enough, std::uint64_t most_ns);
  // False: it was killed meanwhile, and reading its memory may have failed at any point.
  bool is_held() const;
  std::vector<ThreadState> threads() const;
  pid_t pid() const { return pid_; }
  std::size_t thread_count() const { return tids_.size(); }

 private:
  enum class Wait : std::uint8_t { Stopped, Late, Gone };
  struct Held {
    pid_t tid;
    int signal = 0;     // was about to be delivered when it stopped: goes with the release
    bool late = false;  // waits in the kernel where nothing stops it, and comes back stopped
  };

  explicit FrozenProcess(pid_t pid) : pid_(pid) {}
  Status stop_new_threads(bool& found);
  Wait wait_for_stop(Held& held) const;
  void pass_on_stop(const Held& held) const;

  pid_t pid_;
  std::vector<Held> tids_;
};

}  // namespace tare::core
