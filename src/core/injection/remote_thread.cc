// Calls by ptrace: see remote_thread.h.
//
// A called function returns to a system call instruction, where the kernel stops the thread before the call. No signal
// is used for this: a program may ignore SIGTRAP, and the kernel would then forget that it does.
#include "core/injection/remote_thread.h"

#include <elf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/base/clock_ns.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kLongestStopNs = 100'000'000;     // of a thread that can be interrupted
constexpr std::uint64_t kLongestCallNs = 60'000'000'000;  // the loader may wait for another thread's dlopen
constexpr long kPauseNs = 30'000;
constexpr std::uint64_t kStackBytes = 512 << 10;
constexpr std::uint64_t kArgumentBytes = 128 << 10;  // at the stack's high end
constexpr std::size_t kMostExtendedBytes = 64 << 10;
constexpr int kNoSeccomp = 1 << 21;  // PTRACE_O_SUSPEND_SECCOMP
constexpr std::uint64_t kInstructionBytes = 2;
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
  const std::uint64_t begin_ns = trace::monotonic_ns();
  int status = 0;
  while (true) {
    const std::uint64_t past_ns = trace::monotonic_ns() - begin_ns;
    if (past_ns > kLongestStopNs || !wait_for(tid, kLongestStopNs - past_ns, status)) {
      // If it only waits where nothing stops it, it will stop later, and a later call of waitpid() finds it.
      thread.is_held_ = false;
      if (status == -1) {
        while (!wait_for(tid, kLongestStopNs, status) && status == -1) continue;
        if (WIFSTOPPED(status)) ::ptrace(PTRACE_DETACH, tid, nullptr, is_event_stop(status) ? 0 : WSTOPSIG(status));
      }
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
      extended_(std::move(other.extended_)),
      signals_(other.signals_),
      postponed_(std::move(other.postponed_)),
      instruction_(other.instruction_),
      stack_(other.stack_) {}

RemoteThread::~RemoteThread() {
  if (!is_held_) return;
  if (is_borrowed_) give_back();
  ::ptrace(PTRACE_DETACH, tid_, nullptr, 0);
  for (const int signal : postponed_) ::syscall(SYS_tgkill, pid_, tid_, signal);
}

Status RemoteThread::borrow(std::uint64_t syscall_instruction, bool suspend_filters) {
  instruction_ = syscall_instruction;
  if (suspend_filters && ::ptrace(PTRACE_SETOPTIONS, tid_, nullptr, PTRACE_O_TRACESYSGOOD | kNoSeccomp) != 0) {
    return Error{ErrorKind::CannotRecord,
                 "process " + std::to_string(pid_) +
                     " confines itself by a seccomp filter, which only root may suspend for the "
                     "time of loading the recorder: attach as root"};
  }
  extended_.resize(kMostExtendedBytes);
  iovec room{extended_.data(), extended_.size()};
  const bool has_all = ::ptrace(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &room) == 0 &&
                       ::ptrace(PTRACE_GETSIGMASK, tid_, sizeof(signals_), &signals_) == 0;
  if (!has_all) return ended();
  extended_.resize(room.iov_len);
  const std::uint64_t blocked = all_but_faults();
  if (::ptrace(PTRACE_SETSIGMASK, tid_, sizeof(blocked), &blocked) != 0) return ended();
  is_borrowed_ = true;
  const Result<std::int64_t> stack = system_call(
      SYS_mmap, {0, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0});
  if (!stack) return stack.error();
  if (*stack < 0) {
    return Error{ErrorKind::CannotRecord,
                 "process " + std::to_string(pid_) +
                     " has no memory for a call of its loader: " + std::strerror(static_cast<int>(-*stack))};
  }
  stack_ = static_cast<std::uint64_t>(*stack);
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

Status RemoteThread::run_to(const user_regs_struct& registers, std::uint64_t stop_address, std::uint64_t stop_sp) {
  if (::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers) != 0) return ended();
  while (true) {
    int status = 0;
    if (Status resumed = resume_until_stop(status); !resumed) return resumed;
    user_regs_struct now{};
    if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &now) != 0) return ended();
    if (now.rip == stop_address && now.rsp == stop_sp) return ok();
  }
}

Result<std::uint64_t> RemoteThread::call(std::uint64_t function, std::uint64_t first, std::uint64_t second) {
  user_regs_struct registers = saved_;
  registers.orig_rax = ~std::uint64_t{0};  // no call is to be restarted
  registers.rip = function;
  registers.rdi = first;
  registers.rsi = second;
  registers.rax = 0;
  registers.eflags &= ~std::uint64_t{0x500};  // neither single steps nor a reversed direction
  registers.rsp = stack_ + kStackBytes - kArgumentBytes - 8;
  iovec from{&instruction_, 8};
  iovec to{reinterpret_cast<void*>(registers.rsp), 8};
  if (::process_vm_writev(pid_, &from, 1, &to, 1, 0) != 8) return ended();
  if (Status run = run_to(registers, instruction_ + kInstructionBytes, registers.rsp + 8); !run) return run.error();
  user_regs_struct now{};
  if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &now) != 0) return ended();
  const std::uint64_t result = now.orig_rax;  // the number of a system call that isn't made
  now.orig_rax = ~std::uint64_t{0};
  if (::ptrace(PTRACE_SETREGS, tid_, nullptr, &now) != 0) return ended();
  return result;
}

Result<std::int64_t> RemoteThread::system_call(long number, const std::vector<std::uint64_t>& arguments) {
  user_regs_struct registers = saved_;
  registers.orig_rax = ~std::uint64_t{0};
  registers.rip = instruction_;
  registers.rax = static_cast<std::uint64_t>(number);
  unsigned long long* const places[] = {&registers.rdi, &registers.rsi, &registers.rdx,
                                        &registers.r10, &registers.r8,  &registers.r9};
  for (std::size_t i = 0; i < arguments.size() && i < 6; ++i) *places[i] = arguments[i];
  const std::uint64_t behind = instruction_ + kInstructionBytes;
  if (Status entered = run_to(registers, behind, registers.rsp); !entered) return entered.error();
  int status = 0;
  if (Status left = resume_until_stop(status); !left) return left.error();
  user_regs_struct now{};
  if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &now) != 0) return ended();
  return static_cast<std::int64_t>(now.rax);
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
  const std::uint64_t address = stack_ + kStackBytes - kArgumentBytes + place;
  iovec from{const_cast<void*>(bytes), count};
  iovec to{reinterpret_cast<void*>(address), count};
  if (place + count > kArgumentBytes || ::process_vm_writev(pid_, &from, 1, &to, 1, 0) != static_cast<ssize_t>(count))
    return ended();
  return address;
}

// The thread must stop as it was stopped at first: only there does the kernel restart the interrupted system call.
void RemoteThread::give_back() {
  if (stack_ != 0) (void)system_call(SYS_munmap, {stack_, kStackBytes});
  user_regs_struct idle = saved_;
  idle.orig_rax = ~std::uint64_t{0};
  idle.rip = instruction_;
  idle.rax = SYS_getpid;
  ::ptrace(PTRACE_SETREGS, tid_, nullptr, &idle);
  ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
  ::ptrace(PTRACE_CONT, tid_, nullptr, 0);
  int status = 0;
  while (wait_for(tid_, kLongestCallNs, status) && !is_event_stop(status)) {
    if (status >> 8 != kCallStop && status >> 16 == 0) postponed_.push_back(WSTOPSIG(status));
    ::ptrace(PTRACE_CONT, tid_, nullptr, 0);
  }
  iovec extended{extended_.data(), extended_.size()};
  ::ptrace(PTRACE_SETREGS, tid_, nullptr, &saved_);
  ::ptrace(PTRACE_SETREGSET, tid_, NT_X86_XSTATE, &extended);
  ::ptrace(PTRACE_SETSIGMASK, tid_, sizeof(signals_), &signals_);
}

}  // namespace tare::core
