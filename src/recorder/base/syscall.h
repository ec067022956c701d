// System calls without libc: no errno touched, no cancellation point, nothing that another preloaded library
// interposes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>

#include "recorder/arch/arch.h"

namespace tare::recorder::sys {

// System calls for which the program's seccomp filters would kill it: see sandbox.h.
struct ForbiddenCalls {
  std::uint64_t words[8] = {};
  bool any = false;

  bool has(long number) const { return number < 512 && (words[number / 64] >> (number % 64) & 1) != 0; }
  void add(long number) {
    words[number / 64] |= std::uint64_t{1} << (number % 64);
    any = true;
  }
};
inline constinit ForbiddenCalls forbidden_calls;

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  if (__builtin_expect(forbidden_calls.any, 0) && forbidden_calls.has(number)) return -1;  // EPERM
  return arch::system_call(number, a, b, c, d, e, f);                                      // -errno on failure
}

template <typename T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

constexpr bool failed(long result) { return result < 0 && result > -4096; }

inline long open(const char* path, int flags, int mode = 0) {
  return call(SYS_openat, -100 /* AT_FDCWD */, word(path), flags, mode);
}
inline long close(long fd) { return call(SYS_close, fd); }
inline long read(long fd, void* buffer, std::size_t bytes) {
  return call(SYS_read, fd, word(buffer), static_cast<long>(bytes));
}
inline long write(long fd, const void* buffer, std::size_t bytes) {
  return call(SYS_write, fd, word(buffer), static_cast<long>(bytes));
}
inline long mmap(void* address, std::size_t bytes, int protection, int flags, long fd, std::uint64_t offset) {
  return call(SYS_mmap, word(address), static_cast<long>(bytes), protection, flags, fd, static_cast<long>(offset));
}
inline long munmap(const void* address, std::size_t bytes) {
  return call(SYS_munmap, word(address), static_cast<long>(bytes));
}
inline long madvise(const void* address, std::size_t bytes, int advice) {
  return call(SYS_madvise, word(address), static_cast<long>(bytes), advice);
}
// 0 where it's forbidden.
inline int getpid() {
  const long id = call(SYS_getpid);
  return failed(id) ? 0 : static_cast<int>(id);
}
inline int gettid() {
  const long id = call(SYS_gettid);
  return failed(id) ? 0 : static_cast<int>(id);
}

// The soft limit of setrlimit(2); all ones: none, or unknown.
inline std::uint64_t limit_of(int resource) {
  std::uint64_t limits[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};
  call(SYS_prlimit64, 0, resource, 0, word(limits));
  return limits[0];
}

struct Timespec {
  std::int64_t seconds;
  std::int64_t nanoseconds;
};
inline void sleep_ns(std::int64_t nanoseconds) {
  Timespec wanted{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  call(SYS_nanosleep, word(&wanted), 0);
}

// The signals that SignalsBlocked blocks: all, without SIGBUS once the recorder's handler is installed
// (process/bus_errors.h).
inline constinit std::uint64_t blocked_signals = ~std::uint64_t{0};

// Blocks all signals for its lifetime: a handler must not see intermediate states, and must not leave by longjmp.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    const std::uint64_t all = blocked_signals;
    call(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, word(&all), word(&before_), sizeof(before_));
  }
  ~SignalsBlocked() { call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, word(&before_), 0, sizeof(before_)); }
  // With the signals as they were; shorter where one comes.
  void sleep_unblocked(std::int64_t nanoseconds) const {
    const std::uint64_t all = blocked_signals;
    call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, word(&before_), 0, sizeof(before_));
    sleep_ns(nanoseconds);
    call(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, word(&all), 0, sizeof(before_));
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace tare::recorder::sys
