// Judges a stack: see safe_point.h.
#include "core/injection/safe_point.h"

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

#include "core/injection/stack_walk.h"

namespace tare::core {
namespace {

constexpr const char* kForbidden[] = {
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "malloc_trim",
    "malloc_info",
    "mallinfo",
    "mallinfo2",
    "mallopt",
    "fork",
    "_Fork",
    "vfork",
    "exit",
    "quick_exit",
    "abort",
    "pthread_create",
    "pthread_exit",
    "pthread_getattr_np",
    "dl_iterate_phdr",
    "dlopen",
    "dlclose",
    "dlsym",
    "dlvsym",
    "dladdr",
    "dladdr1",
    "dlinfo",
    "dlmopen",
    "dlerror",
    "__cxa_finalize",
    "reallocarray",
};

// Neither the allocator nor functions that hold the loader's locks make these.
constexpr long kHarmlessCalls[] = {
    SYS_read,      SYS_write,         SYS_readv,           SYS_writev,      SYS_poll,         SYS_ppoll,
    SYS_select,    SYS_pselect6,      SYS_epoll_wait,      SYS_epoll_pwait, SYS_nanosleep,    SYS_clock_nanosleep,
    SYS_pause,     SYS_wait4,         SYS_waitid,          SYS_accept,      SYS_accept4,      SYS_connect,
    SYS_recvfrom,  SYS_recvmsg,       SYS_recvmmsg,        SYS_sendto,      SYS_sendmsg,      SYS_sendmmsg,
    SYS_sendfile,  SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_semop,       SYS_semtimedop,   SYS_msgrcv,
    SYS_msgsnd,    SYS_fsync,         SYS_fdatasync,       SYS_sched_yield, SYS_io_getevents, SYS_flock,
    SYS_epoll_ctl, SYS_pread64,       SYS_pwrite64,        SYS_getpid,      SYS_gettid,
};
constexpr long kEpollPwait2 = 441;

// Of a futex: waiting for a condition, a semaphore or the end of a thread. The locks of the allocator and the loader
// are waited for by the plain operation.
bool is_harmless_wait(const user_regs_struct& registers) {
  constexpr std::uint64_t kOperation = 0x7f;
  constexpr std::uint64_t kWaitBitset = 9;
  return (registers.rsi & kOperation) == kWaitBitset;
}

bool is_in_harmless_call(const user_regs_struct& registers) {
  const auto number = static_cast<long>(registers.orig_rax);
  if (number == SYS_futex) return is_harmless_wait(registers);
  return number == kEpollPwait2 || std::ranges::find(kHarmlessCalls, number) != std::end(kHarmlessCalls);
}

}  // namespace

SafePoint::SafePoint(pid_t pid, const LoadedObjects& objects)
    : pid_(pid), objects_(objects), libc_(objects.defining("gnu_get_libc_version")) {
  const LoadedObject* const allocator = objects.defining("malloc");
  allocator_ = allocator != libc_ ? allocator : nullptr;
  is_allocator_in_program_ = allocator_ != nullptr && allocator_ == objects.all().data();
  if (is_allocator_in_program_) allocator_ = nullptr;
  for (const LoadedObject& object : objects.all()) {
    if (!is_libc(&object)) continue;
    for (const char* const name : kForbidden) {
      if (const std::uint64_t address = objects.address_in(object, name); address != 0) forbidden_.insert(address);
    }
  }
}

// Before version 2.34, threads and the loader's interface are libraries of their own.
bool SafePoint::is_libc(const LoadedObject* object) const {
  return object != nullptr &&
         (object == libc_ || object->soname == "libpthread.so.0" || object->soname == "libdl.so.2");
}

bool SafePoint::is_at(const user_regs_struct& registers) const {
  const WalkedStack stack = walk_stack(pid_, objects_, registers);
  if (!stack.is_followed || stack.frames.empty()) return false;
  const bool is_in_call = static_cast<long>(registers.orig_rax) >= 0;
  if (is_in_call && !is_in_harmless_call(registers)) return false;
  if (!is_in_call && (is_libc(stack.frames.front().object) || is_allocator_in_program_)) return false;
  bool was_interrupted = false;
  for (const WalkedFrame& frame : stack.frames) {
    if (frame.object != nullptr && (frame.object == objects_.loader() || frame.object == allocator_)) return false;
    // A signal's handler runs, and the thread may be anywhere in the C library below it.
    if (was_interrupted && is_libc(frame.object)) return false;
    was_interrupted = frame.interrupted;
    if (is_libc(frame.object) && forbidden_.contains(frame.function)) return false;
  }
  return true;
}

}  // namespace tare::core
