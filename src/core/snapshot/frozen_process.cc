// Stopping a process from outside: see frozen_process.h.
#include "core/snapshot/frozen_process.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/process_memory/pid_numbers.h"
#include "core/process_memory/registers.h"
#include "trace/base/clock_ns.h"
#include "trace/base/process_files.h"

namespace tare::core {
namespace {

constexpr int kMostRounds = 100;  // of looking for threads that others made meanwhile

constexpr long kPauseNs = 30'000;
// A thread that can be stopped waits in the kernel (inside vfork, say) and not for a processor.
constexpr std::uint64_t kUsualWaitNs = 300'000'000;
constexpr std::uint64_t kLongestWaitNs = 10'000'000'000;

void pause() {
  const timespec moment{0, kPauseNs};
  ::nanosleep(&moment, nullptr);
}

// Threads that hadn't stopped when their process was released, and killed ones whose end the kernel hasn't reported
// yet. One tracer, one thread: no lock.
struct LateStop {
  pid_t pid;
  pid_t tid;
};
std::vector<LateStop> late_stops;

bool has_stopped(const siginfo_t& info) { return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED; }

// The status of a whole process must stay available to the code that watches it.
void reap_thread(pid_t pid, pid_t tid) {
  int status = 0;
  if (tid != pid) ::waitpid(tid, &status, WNOHANG | __WALL);
}

// As /proc/PID/stat has it; 'X' for one that is gone.
char state_of(pid_t pid, pid_t tid) {
  const std::optional<trace::ProcessStat> stat = trace::thread_stat(pid, tid);
  return stat ? stat->state : 'X';
}

// A zombie: a leader whose other threads live on, or a process that hasn't been waited for. No tracer can have it.
bool has_ended(pid_t pid, pid_t tid) {
  const char state = state_of(pid, tid);
  return state == 'Z' || state == 'X';
}

Error refused(pid_t pid, int error) {
  std::string why = std::strerror(error);
  if (error == EPERM) {
    why = "another tracer (a debugger, strace) holds it, or it may not be traced (changed user, a sandbox)";
  }
  return {ErrorKind::CannotRecord, "cannot take a snapshot of process " + std::to_string(pid) + ": " + why +
                                       "; the contents of its blocks aren't in the trace"};
}

}  // namespace

FrozenProcess::FrozenProcess(FrozenProcess&& other) noexcept
    : pid_(other.pid_), tids_(std::exchange(other.tids_, {})) {}

// A killed thread can't be released. It stays a zombie until its tracer has waited for it, and its process has no end
// until then.
FrozenProcess::~FrozenProcess() {
  for (const Held& held : tids_) {
    if (held.late || ::ptrace(PTRACE_DETACH, held.tid, nullptr, held.signal) != 0)
      late_stops.push_back({pid_, held.tid});
  }
  release_late_stops();
}

bool FrozenProcess::release_late_stops() {
  std::erase_if(late_stops, [](const LateStop& late) {
    siginfo_t info{};
    const int options = WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL;
    if (::waitid(P_PID, static_cast<id_t>(late.tid), &info, options) != 0) return true;
    if (info.si_pid == 0) return false;
    int status = 0;
    if (!has_stopped(info)) {
      reap_thread(late.pid, late.tid);
      return true;
    }
    ::waitpid(late.tid, &status, WNOHANG | __WALL);
    ::ptrace(PTRACE_DETACH, late.tid, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
    return true;
  });
  return late_stops.empty();
}

FrozenProcess::Wait FrozenProcess::wait_for_stop(Held& held) const {
  const std::uint64_t begin_ns = trace::monotonic_ns();
  while (true) {
    siginfo_t info{};
    const int options = WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL;
    if (::waitid(P_PID, static_cast<id_t>(held.tid), &info, options) != 0) return Wait::Gone;
    if (info.si_pid == 0) {
      const std::uint64_t waited_ns = trace::monotonic_ns() - begin_ns;
      if (waited_ns > kLongestWaitNs || (waited_ns > kUsualWaitNs && state_of(pid_, held.tid) != 'R')) {
        held.late = true;
        return Wait::Late;
      }
      pause();
      continue;
    }
    int status = 0;
    if (!has_stopped(info)) {
      reap_thread(pid_, held.tid);
      return Wait::Gone;
    }
    ::waitpid(held.tid, &status, WNOHANG | __WALL);
    // A ptrace event (its name is above bit 15) has no signal to deliver.
    if (status >> 16 == 0) held.signal = WSTOPSIG(status);
    return Wait::Stopped;
  }
}

Status FrozenProcess::stop_new_threads(bool& found) {
  found = false;
  const std::size_t before = tids_.size();
  for (const pid_t tid : trace::thread_ids(pid_)) {
    if (std::any_of(tids_.begin(), tids_.end(), [&](const Held& held) { return held.tid == tid; })) continue;
    if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
      const int error = errno;
      if (error == ESRCH || has_ended(pid_, tid)) continue;
      // A thread that is ending gives EPERM, too.
      if (error == EPERM && (before > 0 || tids_.size() > before)) continue;
      return refused(pid_, error);
    }
    ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    tids_.push_back({tid});
    found = true;
  }
  // All threads are interrupted before the first is waited for.
  for (std::size_t i = before; i < tids_.size();) {
    if (wait_for_stop(tids_[i]) == Wait::Gone) {
      tids_.erase(tids_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return ok();
}

Result<FrozenProcess> FrozenProcess::freeze(pid_t pid) {
  FrozenProcess process(pid);
  bool found = true;
  for (int round = 0; found && round < kMostRounds; ++round) {
    if (Status status = process.stop_new_threads(found); !status) return status.error();
  }
  return process;
}

// A signal stops a thread again. An interrupt also does, if a signal had already stopped the thread when it was
// requested.
void FrozenProcess::pass_on_stop(const Held& held) const {
  siginfo_t info{};
  const int options = WSTOPPED | WNOWAIT | WNOHANG | __WALL;
  if (::waitid(P_PID, static_cast<id_t>(held.tid), &info, options) != 0 || info.si_pid == 0) return;
  int status = 0;
  ::waitpid(held.tid, &status, WNOHANG | __WALL);
  ::ptrace(PTRACE_CONT, held.tid, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
}

bool FrozenProcess::let_run(pid_t tid, const std::function<bool()>& is_far_enough, std::uint64_t most_ns) {
  const auto held = std::find_if(tids_.begin(), tids_.end(), [&](const Held& one) { return one.tid == tid; });
  if (held == tids_.end()) return false;
  if (!held->late) {
    if (::ptrace(PTRACE_CONT, tid, nullptr, std::exchange(held->signal, 0)) != 0) return false;
  }
  const std::uint64_t begin_ns = trace::monotonic_ns();
  while (!is_far_enough() && trace::monotonic_ns() - begin_ns < most_ns) {
    pause();
    if (!held->late) pass_on_stop(*held);
  }
  if (!held->late) ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  held->late = false;
  if (wait_for_stop(*held) != Wait::Gone) return true;
  tids_.erase(held);
  return false;
}

pid_t FrozenProcess::thread_numbered(pid_t own_number) const {
  const bool same_namespace = innermost_number(pid_, pid_) == pid_;
  for (const Held& held : tids_) {
    if ((same_namespace ? held.tid : innermost_number(pid_, held.tid)) == own_number) return held.tid;
  }
  return 0;
}

// A killed thread leaves its stop, and the kernel refuses its registers from then on.
bool FrozenProcess::is_held() const {
  user_regs_struct registers{};
  return std::ranges::any_of(tids_, [&](const Held& held) {
    return held.late ? !has_ended(pid_, held.tid) : read_registers(held.tid, registers);
  });
}

std::vector<ThreadState> FrozenProcess::threads() const {
  std::vector<ThreadState> states;
  for (const Held& held : tids_) {
    user_regs_struct registers{};
    if (!read_registers(held.tid, registers)) continue;
    ThreadState state;
    state.registers = pointers_of(registers);
    state.stack_pointer = stack_pointer_of(registers);
    state.thread_pointer = thread_pointer_of(held.tid, registers);
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace tare::core
