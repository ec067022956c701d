// System calls that the program's seccomp filters would kill it for, so that the recorder doesn't make them.
//
// Filters are installed by prctl or seccomp, which are interposed. Before the kernel gets a filter (a small program),
// the recorder runs it for each call that it makes after its start. Of several filters the strictest answer holds.
// Calls that are answered with an error are made: the recorder copes with errors. For calls that are answered with a
// signal, sys::call() returns the error itself, and their later work is done in advance: room for chunks, rows and
// strings.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/base/syscall.h"
#include "trace/filters/filter_program.h"

struct sock_fprog;

namespace tare::recorder {

using trace::FilterAction;

// To each call of the recorder's: at first all are allowed.
struct FilterAnswers {
  static constexpr std::size_t kMost = 48;
  static constexpr FilterAction kAllowed = 0x7fff0000;  // SECCOMP_RET_ALLOW

  constexpr FilterAnswers() {
    for (FilterAction& action : actions) action = kAllowed;
  }
  // Those of one filter. A filter that can't be read counts as forbidding all calls.
  explicit FilterAnswers(const sock_fprog* filter);
  // Another filter joins.
  void add(const FilterAnswers& other);

  FilterAction actions[kMost];
};

// A filter that is in force already. False, if it doesn't let the recorder make all its calls.
bool admit_filter(const sock_fprog* filter);

class FilterGuard {
 public:
  // `filter` is about to be installed.
  explicit FilterGuard(const sock_fprog* filter);
  // It wasn't installed: the calls that it forbids are allowed again.
  void withdraw();

 private:
  FilterAnswers answers_before_;
  sys::ForbiddenCalls forbidden_before_;
};

}  // namespace tare::recorder
