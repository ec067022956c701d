// Programs that confine themselves by seccomp: the interposed prctl, and the calls forwarded by syscall().
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"
#include "recorder/hooks/syscall_hook.h"
#include "recorder/limits/sandbox.h"
#include "recorder/recorder.h"

namespace tare::recorder {
namespace {

// With a listener, success is a descriptor. Where all threads are to get the filter, the number of one that can't is a
// failure.
bool is_installed(long result, unsigned long flags) {
  constexpr unsigned long kAllThreads = 1;
  constexpr unsigned long kListener = 8;
  return result == 0 || (result > 0 && ((flags & kAllThreads) == 0 || (flags & kListener) != 0));
}

// `install` puts `filter` in force.
template <typename Install>
long install_filter(const void* filter, unsigned long flags, Install install) {
  FilterGuard guard(static_cast<const sock_fprog*>(filter));
  const long result = install();
  if (!is_installed(result, flags)) guard.withdraw();
  return result;
}

// Strict mode leaves read, write and exit, and takes the processor's clock away: reading it is a fault.
template <typename Install>
long enter_strict_mode(Install install) {
  Notice notice;
  recorder.leave_notice(notice, recorder.program(), "in seccomp's strict mode from some point on");
  const long result = install();
  if (result == 0)
    recorder.stop();
  else
    notice.take_back();
  return result;
}

}  // namespace

TARE_HOOK_FUNCTION(int, prctl,
                   (int option, unsigned long first, unsigned long second, unsigned long third, unsigned long fourth)) {
  const auto call = [&] { return real.prctl(option, first, second, third, fourth); };
  if (option != PR_SET_SECCOMP) return call();
  return static_cast<int>(first == SECCOMP_MODE_FILTER ? install_filter(reinterpret_cast<const void*>(second), 0, call)
                                                       : enter_strict_mode(call));
}

long confining_call(long number, long first, long second, long third, long fourth, long fifth) {
  const auto call = [&] { return real.syscall(number, first, second, third, fourth, fifth, 0); };
  const bool is_prctl = number == SYS_prctl;
  if (is_prctl ? first != PR_SET_SECCOMP : first != SECCOMP_SET_MODE_FILTER && first != SECCOMP_SET_MODE_STRICT) {
    return call();
  }
  const bool has_filter = is_prctl ? second == SECCOMP_MODE_FILTER : first == SECCOMP_SET_MODE_FILTER;
  if (!has_filter) return enter_strict_mode(call);
  return install_filter(reinterpret_cast<const void*>(third), is_prctl ? 0 : static_cast<unsigned long>(second), call);
}

}  // namespace tare::recorder
