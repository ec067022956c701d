// Calls by ptrace: see remote_thread.h.
//
// The thread stops at system calls of its detour, before the kernel makes them. No signal is used for this: a program
// may ignore SIGTRAP, and the kernel would then forget that it does.
//
// From each of this process's steps to the next, the thread either hasn't left its place, or finds its way back by
// itself: this process may be killed.
#include "core/injection/remote_thread.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "core/injection/code_gap.h"
#include "core/injection/detour.h"
#include "core/injection/loaded_objects.h"
#include "trace/base/clock_ns.h"
#include "trace/base/process_files.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
constexpr std::uint64_t kLongestCallNs = 60'000'000'000;  // the loader may wait for another thread's dlopen
constexpr long kPauseNs = 30'000;
// The detour's memory: a stack, what DetourControl says, and arguments.
constexpr std::uint64_t kStackBytes = 384 << 10;
constexpr std::uint64_t kControlBytes = 64 << 10;
constexpr std::uint64_t kArgumentBytes = 128 << 10;
constexpr std::uint64_t kAreaBytes = kStackBytes + kControlBytes + kArgumentBytes;
constexpr int kNoSeccomp = 1 << 21;  // PTRACE_O_SUSPEND_SECCOMP
constexpr int kCallStop = SIGTRAP | 0x80;

// These are the consequences of instructions. If they were blocked, the kernel would reset their handlers.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

void pause() {
  const timespec moment{0, kPauseNs};
  ::nanosleep(&moment, nullptr);
}

bool is_event_stop(int status) { return status >> 16 == PTRACE_EVENT_STOP; }

// False: the time is over, or the thread is gone, which leaves `status` as an end.
bool wait_for(pid_t tid, std::uint64_t most_ns, int& status) {
  const std::uint64_t begin_ns = trace::monotonic_ns();
  while (true) {
    const pid_t got = ::waitpid(tid, &status, WNOHANG | __WALL);
    if (got == tid) return WIFSTOPPED(status);
    if (got < 0 && errno != EINTR) {
      status = 0;
      return false;
    }
    if (trace::monotonic_ns() - begin_ns > most_ns) {
      status = -1;
      return false;
    }
    pause();
  }
}

std::uint64_t all_but_faults() {
  std::uint64_t mask = ~std::uint64_t{0};
  for (const int fault : kFaults) mask &= ~(std::uint64_t{1} << (fault - 1));
  return mask;
}

bool is_fault(int signal) {
  for (const int fault : kFaults) {
    if (signal == fault) return true;
  }
  return false;
}

}  // namespace

Error RemoteThread::ended() const {
  return {ErrorKind::CannotRecord, "process " + std::to_string(pid_) + " ended while the recorder was being loaded"};
}

std::optional<RemoteThread> RemoteThread::stop(pid_t pid, pid_t tid, int& error) {
  error = 0;
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
    error = errno;
    return std::nullopt;
  }
  ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  RemoteThread thread(pid, tid);
  int status = 0;
  while (true) {
    // A thread can't be let go before it has stopped, and on a busy machine it waits for a processor to do so.
    if (!wait_for(tid, kNoLimit, status)) {
      thread.is_held_ = false;
      return std::nullopt;
    }
    if (is_event_stop(status)) break;
    // A signal comes first. The interrupt is still due.
    ::ptrace(PTRACE_CONT, tid, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
  }
  if (WSTOPSIG(status) != SIGTRAP || ::ptrace(PTRACE_GETREGS, tid, nullptr, &thread.saved_) != 0) return std::nullopt;
  return thread;
}

RemoteThread::RemoteThread(RemoteThread&& other) noexcept
    : pid_(other.pid_),
      tid_(other.tid_),
      is_held_(std::exchange(other.is_held_, false)),
      is_borrowed_(other.is_borrowed_),
      saved_(other.saved_),
      signals_(other.signals_),
      postponed_(std::move(other.postponed_)),
      gap_(other.gap_),
      before_(std::move(other.before_)),
      area_(other.area_),
      calls_(other.calls_),
      is_at_end_(other.is_at_end_) {}

RemoteThread::~RemoteThread() {
  if (!is_held_) return;
  if (is_borrowed_) give_back();
  ::ptrace(PTRACE_DETACH, tid_, nullptr, 0);
  for (const int signal : postponed_) ::syscall(SYS_tgkill, pid_, tid_, signal);
}

// An attaching process that was killed leaves its detour in the gap, and a thread may still be on it.
bool RemoteThread::is_on_earlier_detour(std::uint64_t gap) const {
  DetourFacts facts{};
  if (!read_remote(pid_, gap, &facts, sizeof(facts)) || facts.magic != kDetourMagic) return false;
  const auto is_on_it = [&](const user_regs_struct& registers) {
    return registers.rip - gap < kGapBytes || registers.rsp - facts.area <= facts.area_bytes;
  };
  for (const pid_t tid : trace::thread_ids(pid_)) {
    if (tid == tid_) continue;
    int error = 0;
    const std::optional<RemoteThread> other = stop(pid_, tid, error);
    if (other ? is_on_it(other->saved_) : error != ESRCH) return true;
  }
  return is_on_it(saved_);
}

bool RemoteThread::write_gap(const std::vector<std::uint64_t>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (::ptrace(PTRACE_POKEDATA, tid_, gap_ + i * sizeof(words[i]), words[i]) != 0) return false;
  }
  return true;
}

Status RemoteThread::borrow(std::uint64_t gap, bool suspend_filters) {
  if (suspend_filters && ::ptrace(PTRACE_SETOPTIONS, tid_, nullptr, PTRACE_O_TRACESYSGOOD | kNoSeccomp) != 0) {
    return Error{ErrorKind::CannotRecord,
                 "process " + std::to_string(pid_) +
                     " confines itself by a seccomp filter, which only root may suspend for the "
                     "time of loading the recorder: attach as root"};
  }
  if (is_on_earlier_detour(gap)) {
    return Error{ErrorKind::CannotRecord, "process " + std::to_string(pid_) +
                                              " is still loading the recorder for an earlier attach, which was killed; "
                                              "try again"};
  }
  gap_ = gap;
  area_ = find_free_range(pid_, kAreaBytes);
  before_.resize(detour_bytes() / sizeof(std::uint64_t));
  if (::ptrace(PTRACE_GETSIGMASK, tid_, sizeof(signals_), &signals_) != 0 ||
      !read_remote(pid_, gap, before_.data(), before_.size() * sizeof(std::uint64_t)))
    return ended();
  DetourFacts facts{};
  facts.area = area_;
  facts.area_bytes = kAreaBytes;
  facts.control = area_ + kStackBytes;
  facts.blocked = all_but_faults();
  facts.signals = signals_;
  if (!write_gap(detour_of(facts, saved_))) {
    return Error{ErrorKind::CannotRecord,
                 "process " + std::to_string(pid_) + " can't load the recorder: its code can't be written"};
  }
  user_regs_struct registers = saved_;
  registers.rip = gap + kDetourPlaces.begin;
  registers.eflags &= ~std::uint64_t{0x500};  // neither single steps nor a reversed direction
  if (::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers) != 0) return ended();
  is_borrowed_ = true;
  if (::ptrace(PTRACE_SETSIGMASK, tid_, sizeof(facts.blocked), &facts.blocked) != 0) return ended();
  std::uint64_t stopped_at = 0;
  if (Status run = run_to(kDetourPlaces.after_call_stop, kDetourPlaces.after_end_stop, stopped_at); !run) return run;
  is_at_end_ = stopped_at == kDetourPlaces.after_end_stop;
  if (is_at_end_) {
    return Error{ErrorKind::CannotRecord,
                 "process " + std::to_string(pid_) + " has no memory for a call of its loader"};
  }
  return ok();
}

// At the next stop that belongs to the call: others are passed.
Status RemoteThread::resume_until_stop(int& status) {
  if (::ptrace(PTRACE_SYSCALL, tid_, nullptr, 0) != 0) return ended();
  const std::uint64_t end_ns = trace::monotonic_ns() + kLongestCallNs;
  while (true) {
    const std::uint64_t now_ns = trace::monotonic_ns();
    if (now_ns > end_ns || !wait_for(tid_, end_ns - now_ns, status)) {
      is_held_ = false;
      return ended();
    }
    if (status >> 8 == kCallStop) return ok();
    int pass_on = 0;
    if (status >> 16 == 0) {
      siginfo_t info{};
      const int signal = WSTOPSIG(status);
      ::ptrace(PTRACE_GETSIGINFO, tid_, nullptr, &info);
      if (is_fault(signal) && info.si_code > 0) {
        return Error{ErrorKind::CannotRecord, "process " + std::to_string(pid_) +
                                                  " can't load the recorder: its loader " + "raised signal " +
                                                  std::to_string(signal)};
      }
      if (signal == SIGSTOP)
        pass_on = signal;
      else
        postponed_.push_back(signal);
    }
    ::ptrace(PTRACE_SYSCALL, tid_, nullptr, pass_on);
  }
}

// The stop behind a call is the second one at its place: before the call, the thread left the first one.
Status RemoteThread::run_to(std::uint64_t place, std::uint64_t other_place, std::uint64_t& stopped_at) {
  while (true) {
    int status = 0;
    if (Status resumed = resume_until_stop(status); !resumed) return resumed;
    user_regs_struct now{};
    if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &now) != 0) return ended();
    stopped_at = now.rip - gap_;
    if (stopped_at == other_place) return ok();
    std::uint64_t calls = 0;
    if (stopped_at != place) continue;
    const std::uint64_t at = area_ + kStackBytes + offsetof(DetourControl, calls);
    if (!read_remote(pid_, at, &calls, sizeof(calls))) return ended();
    if (calls == calls_) return ok();
  }
}

bool RemoteThread::write_control(std::size_t offset, const void* bytes, std::size_t count) {
  iovec from{const_cast<void*>(bytes), count};
  iovec to{reinterpret_cast<void*>(area_ + kStackBytes + offset), count};
  return ::process_vm_writev(pid_, &from, 1, &to, 1, 0) == static_cast<ssize_t>(count);
}

Result<std::uint64_t> RemoteThread::call(std::uint64_t function, std::uint64_t first, std::uint64_t second,
                                         std::uint64_t third) {
  const std::uint64_t arguments[] = {first, second, third};
  if (!write_control(offsetof(DetourControl, arguments), arguments, sizeof(arguments)) ||
      !write_control(offsetof(DetourControl, function), &function, sizeof(function)))
    return ended();
  ++calls_;
  std::uint64_t stopped_at = 0;
  if (Status run = run_to(kDetourPlaces.after_call_stop, 0, stopped_at); !run) return run.error();
  std::uint64_t result = 0;
  const std::uint64_t at = area_ + kStackBytes + offsetof(DetourControl, result);
  if (!read_remote(pid_, at, &result, sizeof(result))) return ended();
  return result;
}

Status RemoteThread::keep_errno(std::uint64_t at, int value) {
  const std::uint64_t number = static_cast<std::uint32_t>(value);
  if (!write_control(offsetof(DetourControl, errno_value), &number, sizeof(number)) ||
      !write_control(offsetof(DetourControl, errno_at), &at, sizeof(at)))
    return ended();
  return ok();
}

bool RemoteThread::read_filter(std::size_t number, std::vector<sock_filter>& program) {
  constexpr auto kGetFilter = static_cast<__ptrace_request>(0x420c);  // PTRACE_SECCOMP_GET_FILTER
  program.clear();
  const long count = ::ptrace(kGetFilter, tid_, number, nullptr);
  if (count < 0) return errno == ENOENT;
  program.resize(static_cast<std::size_t>(count));
  return ::ptrace(kGetFilter, tid_, number, program.data()) == count;
}

Result<std::uint64_t> RemoteThread::put_at(std::uint64_t place, const void* bytes, std::size_t count) {
  const std::uint64_t address = area_ + kStackBytes + kControlBytes + place;
  iovec from{const_cast<void*>(bytes), count};
  iovec to{reinterpret_cast<void*>(address), count};
  if (place + count > kArgumentBytes || ::process_vm_writev(pid_, &from, 1, &to, 1, 0) != static_cast<ssize_t>(count))
    return ended();
  return address;
}

// The thread must stop as it was stopped at first: only there does the kernel restart the interrupted system call.
void RemoteThread::give_back() {
  std::uint64_t stopped_at = 0;
  if (!is_at_end_) {
    user_regs_struct now{};
    if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &now) != 0) return;
    // A call that raised a fault is left for good.
    if (now.rip - gap_ != kDetourPlaces.after_call_stop) {
      now.orig_rax = ~std::uint64_t{0};
      now.rip = gap_ + kDetourPlaces.leave;
      now.rbx = area_ + kStackBytes;
      now.rsp = now.rbx;
      ::ptrace(PTRACE_SETREGS, tid_, nullptr, &now);
    }
    if (!run_to(0, kDetourPlaces.after_end_stop, stopped_at)) return;
  }
  ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
  ::ptrace(PTRACE_CONT, tid_, nullptr, 0);
  int status = 0;
  while (wait_for(tid_, kLongestCallNs, status) && !is_event_stop(status)) {
    if (status >> 8 != kCallStop && status >> 16 == 0) postponed_.push_back(WSTOPSIG(status));
    ::ptrace(PTRACE_CONT, tid_, nullptr, 0);
  }
  ::ptrace(PTRACE_SETSIGMASK, tid_, sizeof(signals_), &signals_);
  ::ptrace(PTRACE_SETREGS, tid_, nullptr, &saved_);
  (void)write_gap(before_);
}

}  // namespace tare::core
