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

#include "recorder/base/address.h"
#include "recorder/recorder.h"
#include "recorder/unwind/stack_memory.h"
#include "trace/filters/recorder_calls.h"

namespace tare::recorder {

namespace {

using trace::FilterProgram;
using trace::is_executed;
using trace::kFutexWaitPrivate;

constexpr auto& kCalls = trace::kRecorderCalls;
constexpr std::size_t kCallCount = sizeof(kCalls) / sizeof(kCalls[0]);
static_assert(kCallCount <= FilterAnswers::kMost);

constinit FilterAnswers in_force;

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
  for (std::size_t i = 0; i < kCallCount; ++i) actions[i] = program.answer(trace::data_of(kCalls[i], arch::kAuditArch));
}

void FilterAnswers::add(const FilterAnswers& other) {
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (other.actions[i] < actions[i]) actions[i] = other.actions[i];
  }
}

bool admit_filter(const sock_fprog* filter) {
  const FilterAnswers answers(filter);
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (!trace::may_be_made(kCalls[i], answers.actions[i])) return false;
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
    if (!trace::may_be_made(kCalls[i], answers.actions[i])) forbidden.add(kCalls[i].number);
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
