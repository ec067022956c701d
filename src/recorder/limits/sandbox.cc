// The answers of the filters in force to the recorder's calls.
#include "recorder/limits/sandbox.h"

#include <cstddef>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include "recorder/recorder.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {

namespace {

constexpr int kFutexWaitPrivate = 128;

struct RecorderCall {
  int number;
  std::uint64_t arguments[5];
};

// All system calls of the recorder after its start, with the arguments that filters check. docs/recording.md lists
// when.
constexpr RecorderCall kCalls[] = {
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
    {SYS_tgkill, {}},
    {SYS_sigaltstack, {}},
    {SYS_statfs, {}},
    {SYS_fstat, {2}},
    {SYS_write, {2}},
    {SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), 0, O_RDWR | O_CLOEXEC | O_NOFOLLOW}},
    {SYS_read, {3}},
    {SYS_pread64, {3}},
    {SYS_close, {3}},
    {SYS_fcntl, {3, F_GETLK}},
    {SYS_fallocate, {3}},
    {SYS_pwrite64, {3}},
    {SYS_readlinkat, {static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_getcwd, {}},
    {SYS_ftruncate, {3}},
    {SYS_lseek, {3, 0, SEEK_END}},
    {SYS_prlimit64, {}},
    {SYS_uname, {}},
    {SYS_renameat2, {static_cast<std::uint64_t>(AT_FDCWD), 0, static_cast<std::uint64_t>(AT_FDCWD), 0, 1}},
    {SYS_linkat, {static_cast<std::uint64_t>(AT_FDCWD), 0, static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_unlinkat, {static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_symlinkat, {0, static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_faccessat, {static_cast<std::uint64_t>(AT_FDCWD), 0, 1}},
    {SYS_fgetxattr, {3}},
    {SYS_geteuid, {}},
    {SYS_getegid, {}},
    {SYS_prctl, {39}},
};

constexpr std::size_t kCallCount = sizeof(kCalls) / sizeof(kCalls[0]);
static_assert(kCallCount <= FilterAnswers::kMost);

constinit FilterAnswers in_force;

seccomp_data data_of(const RecorderCall& call) {
  seccomp_data data{};
  data.nr = call.number;
  data.arch = arch::kAuditArch;
  for (int i = 0; i < 5; ++i) data.args[i] = call.arguments[i];
  return data;
}

bool is_executed(FilterAction action) { return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG; }

bool may_be_made(const RecorderCall& call, FilterAction action) {
  // The recorder handles errors, but an error of rt_sigprocmask would mark an address as readable.
  return is_executed(action) || (action == SECCOMP_RET_ERRNO && call.number != SYS_rt_sigprocmask);
}

bool reaches_kernel(long number) {
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (kCalls[i].number == number && !is_executed(in_force.actions[i])) return false;
  }
  return true;
}

enum class Readable : std::uint8_t { Yes, No, Unknown };

// A futex() that waits no time reads the word before: it answers where the program has denied itself rt_sigprocmask.
Readable is_word_readable(std::uint64_t address) {
  constexpr std::uint64_t kLowest = 4096;
  if (address < kLowest) return Readable::No;
  if (reaches_kernel(SYS_rt_sigprocmask)) return probe_readable(address) ? Readable::Yes : Readable::No;
  if (!reaches_kernel(SYS_futex)) return Readable::Unknown;
  const sys::Timespec no_time{0, 0};
  const auto word = static_cast<long>(address & ~std::uint64_t{3});
  return sys::call(SYS_futex, word, kFutexWaitPrivate, 0, sys::word(&no_time)) == -EFAULT ? Readable::No
                                                                                          : Readable::Yes;
}

Readable is_readable(const void* start, std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4096;
  const auto begin = reinterpret_cast<std::uint64_t>(start);
  if (begin + bytes < begin) return Readable::No;
  Readable all = is_word_readable(begin);
  for (std::uint64_t page = (begin & ~(kPage - 1)) + kPage; page < begin + bytes && all == Readable::Yes; page += kPage)
    all = is_word_readable(page);
  return all;
}

}  // namespace

FilterAnswers::FilterAnswers(const sock_fprog* filter) : FilterAnswers() {
  Readable readable = is_readable(filter, sizeof(*filter));
  if (readable == Readable::Yes) readable = is_readable(filter->filter, filter->len * sizeof(sock_filter));
  if (readable == Readable::No) return;  // the kernel refuses it, as it does an invalid one
  if (readable == Readable::Unknown) {
    for (FilterAction& action : actions) action = static_cast<FilterAction>(SECCOMP_RET_KILL_PROCESS);
    return;
  }
  const FilterProgram program(filter->filter, filter->len);
  if (!program.is_valid()) return;
  for (std::size_t i = 0; i < kCallCount; ++i) actions[i] = program.answer(data_of(kCalls[i]));
}

void FilterAnswers::add(const FilterAnswers& other) {
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (other.actions[i] < actions[i]) actions[i] = other.actions[i];
  }
}

bool admit_filter(const sock_fprog* filter) {
  const FilterAnswers answers(filter);
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (!may_be_made(kCalls[i], answers.actions[i])) return false;
  }
  in_force.add(answers);
  return true;
}

FilterGuard::FilterGuard(const sock_fprog* filter)
    : answers_before_(in_force), forbidden_before_(sys::forbidden_calls) {
  FilterAnswers answers = in_force;
  answers.add(FilterAnswers(filter));
  sys::ForbiddenCalls forbidden = forbidden_before_;
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (!may_be_made(kCalls[i], answers.actions[i])) forbidden.add(kCalls[i].number);
  }
  if (forbidden.any && this_thread == nullptr) recorder.attach_thread();  // needs a mapping
  if (forbidden.has(SYS_madvise) || forbidden.has(SYS_mremap)) recorder.prepare_for_filter();
  if (forbidden.has(SYS_futex)) recorder.flag_unheard();
  in_force = answers;
  sys::forbidden_calls = forbidden;
}

void FilterGuard::withdraw() {
  in_force = answers_before_;
  sys::forbidden_calls = forbidden_before_;
}

}  // namespace tare::recorder
