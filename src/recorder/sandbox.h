// System calls that the program's seccomp filters would kill it for, so that the recorder doesn't make them.
//
// A filter is installed by prctl or seccomp, which are interposed: before the kernel gets it, it's asked (it's a small
// program, run here) about each call that the recorder makes after its start. Calls that it answers with an error are
// made: the recorder copes with errors. For those that it answers with a signal, sys::call() gives the error itself,
// and what they'd be needed for later is done in advance: room for chunks, rows and strings.
#pragma once

#include <cstdint>

#include "recorder/syscall.h"

struct sock_fprog;

namespace tare::recorder {

class FilterGuard {
 public:
  // `filter` is about to be installed.
  explicit FilterGuard(const sock_fprog* filter);
  // It wasn't: what it forbids is allowed again.
  void withdraw() { sys::forbidden_calls = before_; }

 private:
  sys::ForbiddenCalls before_;
};

}  // namespace tare::recorder
