// The interposed sigaction and signal: see process/bus_errors.h. Calls for other signals go to the C library.
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"
#include "recorder/process/bus_errors.h"

namespace tare::recorder {
namespace {

void* change_handler(void* handler, int flags, bool blocks_itself) {
  struct sigaction wanted = {};
  struct sigaction before = {};
  wanted.sa_handler = reinterpret_cast<__sighandler_t>(handler);
  wanted.sa_flags = flags;
  if (blocks_itself) sigaddset(&wanted.sa_mask, SIGBUS);
  return change_bus_action(&wanted, &before) == 0 ? reinterpret_cast<void*>(before.sa_handler)
                                                  : reinterpret_cast<void*>(SIG_ERR);
}

bool is_bus_error(int signal, const void* handler) {
  return signal == SIGBUS && handler != reinterpret_cast<void*>(SIG_ERR);
}

}  // namespace

TARE_HOOK_FUNCTION(int, sigaction, (int signal, const void* wanted, void* before)) {
  if (signal != SIGBUS) return real.sigaction(signal, wanted, before);
  return change_bus_action(static_cast<const struct sigaction*>(wanted), static_cast<struct sigaction*>(before));
}

TARE_HOOK_FUNCTION(void*, signal, (int signal, void* handler)) {
  return is_bus_error(signal, handler) ? change_handler(handler, SA_RESTART, true) : real.signal(signal, handler);
}

// signal() of programs that are compiled for System V's meaning (-D_XOPEN_SOURCE).
TARE_HOOK_FUNCTION(void*, __sysv_signal, (int signal, void* handler)) {
  return is_bus_error(signal, handler) ? change_handler(handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER, false)
                                       : real.__sysv_signal(signal, handler);
}

}  // namespace tare::recorder
