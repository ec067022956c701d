// System calls that the recorder makes, with the arguments that seccomp filters check. The recorder compares them with
// filters that the program installs; a launcher that loads the recorder compares them with filters that are in force.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

#include "trace/filters/filter_program.h"

namespace tare::trace {

struct FilteredCall {
  int number;
  std::uint64_t arguments[5];
};

inline constexpr int kFutexWaitPrivate = 128;
inline constexpr auto kWorkingFolder = static_cast<std::uint64_t>(AT_FDCWD);

// All after its start. docs/recording.md lists when.
inline constexpr FilteredCall kRecorderCalls[] = {
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull}},
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN, ~0ull}},
    {SYS_munmap, {0, 4096}},
    {SYS_madvise, {0, 4096, 23}},
    {SYS_munlock, {0, 4096}},
    {SYS_mprotect, {0, 4096, PROT_READ | PROT_WRITE}},
    {SYS_mincore, {0, 4096}},
    {SYS_mremap, {0, 0, 4096, MREMAP_MAYMOVE}},
    {SYS_rt_sigprocmask, {0, 0, 0, 8}},
    {SYS_rt_sigprocmask, {~0ull, 4096, 0, 8}},
    {SYS_futex, {0, 1, 1}},
    {SYS_futex, {0, kFutexWaitPrivate}},
    {SYS_nanosleep, {}},
    {SYS_gettid, {}},
    {SYS_getpid, {}},
    {SYS_getppid, {}},
    // With a budget. Other clocks are read in user mode, but not on all machines.
    {SYS_clock_gettime, {CLOCK_PROCESS_CPUTIME_ID}},
    {SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID}},
    {SYS_clock_gettime, {CLOCK_MONOTONIC}},
    {SYS_tgkill, {}},
    {SYS_sigaltstack, {}},
    {SYS_statfs, {}},
    {SYS_fstat, {2}},
    {SYS_write, {2}},
    {SYS_openat, {kWorkingFolder, 0, O_RDWR | O_CLOEXEC | O_NOFOLLOW}},
    {SYS_read, {3}},
    {SYS_pread64, {3}},
    {SYS_close, {3}},
    {SYS_fcntl, {3, F_GETLK}},
    {SYS_fallocate, {3}},
    {SYS_pwrite64, {3}},
    {SYS_readlinkat, {kWorkingFolder}},
    {SYS_getcwd, {}},
    {SYS_ftruncate, {3}},
    {SYS_lseek, {3, 0, SEEK_END}},
    {SYS_prlimit64, {}},
    {SYS_uname, {}},
    {SYS_renameat2, {kWorkingFolder, 0, kWorkingFolder, 0, 1}},
    {SYS_linkat, {kWorkingFolder, 0, kWorkingFolder}},
    {SYS_unlinkat, {kWorkingFolder}},
    {SYS_symlinkat, {0, kWorkingFolder}},
    {SYS_faccessat, {kWorkingFolder, 0, 1}},
    {SYS_fgetxattr, {3}},
    {SYS_geteuid, {}},
    {SYS_getegid, {}},
    {SYS_prctl, {39}},
};

// Of the C library's loader and allocator while the recorder is loaded into a running program, and of its start there.
inline constexpr FilteredCall kLoadingCalls[] = {
    {SYS_openat, {kWorkingFolder, 0, O_RDONLY | O_CLOEXEC}},
    {SYS_read, {3}},
    {SYS_pread64, {3}},
    {SYS_fstat, {3}},
#ifdef SYS_newfstatat
    {SYS_newfstatat, {3}},
#endif
    {SYS_close, {3}},
    {SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE | MAP_DENYWRITE, 3}},
    {SYS_mmap, {4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | MAP_DENYWRITE, 3}},
    {SYS_mmap, {4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_DENYWRITE, 3}},
    {SYS_mmap, {4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ull}},
    {SYS_mprotect, {4096, 4096, PROT_NONE}},
    {SYS_mprotect, {4096, 4096, PROT_READ}},
    {SYS_mprotect, {4096, 4096, PROT_READ | PROT_WRITE}},
    {SYS_munmap, {4096, 4096}},
    {SYS_brk, {}},
    {SYS_getrandom, {0, 8, 1}},
    {SYS_futex, {0, kFutexWaitPrivate}},
    {SYS_memfd_create, {0, 1}},
    {SYS_restart_syscall, {}},
    // Its handler of SIGBUS.
    {SYS_rt_sigaction, {7, 0, 4096, 8}},
    {SYS_rt_sigaction, {7, 4096, 0, 8}},
    // Of the detour on which a borrowed thread makes these calls.
    {SYS_rt_sigprocmask, {2, 4096, 0, 8}},
    {SYS_rt_sigprocmask, {2, 4096, 0, 0}},
};

constexpr seccomp_data data_of(const FilteredCall& call, std::uint32_t audit_arch) {
  seccomp_data data{};
  data.nr = call.number;
  data.arch = audit_arch;
  for (int i = 0; i < 5; ++i) data.args[i] = call.arguments[i];
  return data;
}

constexpr bool is_executed(FilterAction action) { return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG; }

// The recorder handles errors, but an error of rt_sigprocmask would mark an address as readable.
constexpr bool may_be_made(const FilteredCall& call, FilterAction action) {
  return is_executed(action) || (action == SECCOMP_RET_ERRNO && call.number != SYS_rt_sigprocmask);
}

}  // namespace tare::trace
