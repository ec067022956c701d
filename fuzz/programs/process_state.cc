// State of the whole process: libraries, filters, limits, descriptors, environment.
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "operations.h"
#include "run.h"

namespace dangerous {

void load_library(Run& run, unsigned value) {
  static const char* const kNames[] = {"libm.so.6", "libz.so.1", "libresolv.so.2", "no-such-library.so"};
  const char* const name = kNames[value % 4];
  const ProcessUse use;
  void* const library = dlopen(name, value % 8 < 4 ? RTLD_NOW : RTLD_LAZY | RTLD_LOCAL);
  note(run, library != nullptr);
  delete new int(4);
  if (library == nullptr) {
    const char* const message = dlerror();
    note(run, message == nullptr ? 0 : strlen(message));
    return;
  }
  note(run, dlsym(library, "no_such_function") == nullptr);
  free(malloc(10));
  note(run, dlerror() != nullptr);
  note(run, static_cast<uint64_t>(dlclose(library)));
}

void filter_calls(Run& run, unsigned value) {
  note(run, static_cast<uint64_t>(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
  sock_filter fail[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (value % 100 + 1)),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter = {4, fail};
  note(run, value % 2 == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                           : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
  note(run, syscall(SYS_acct, nullptr) == 0 ? 0 : static_cast<uint64_t>(errno));
}

void change_the_process(Run& run, unsigned value) {
  switch (value % 8) {
    case 0: {
      const ProcessChange change;
      note(run, syscall(SYS_close_range, 3, ~0u, 0));
      break;
    }
    case 1: {
      const rlimit few = {64, 64};
      note(run, static_cast<uint64_t>(setrlimit(RLIMIT_NOFILE, &few)));
      break;
    }
    case 2:
      note(run, static_cast<uint64_t>(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)));
      break;
    case 3: {
      const ProcessChange change;
      note(run, clearenv());
      break;
    }
    case 4:
      note(run, static_cast<uint64_t>(chdir("/")));
      break;
    case 5: {
      sigset_t most;
      sigfillset(&most);
      sigdelset(&most, SIGUSR1);
      sigdelset(&most, SIGUSR2);
      sigdelset(&most, SIGSEGV);
      note(run, static_cast<uint64_t>(pthread_sigmask(SIG_BLOCK, &most, nullptr)));
      break;
    }
    case 6: {
      const rlimit none = {0, 0};
      note(run, static_cast<uint64_t>(setrlimit(RLIMIT_CORE, &none)));
      break;
    }
    default:
      note(run, static_cast<uint64_t>(prctl(PR_SET_NAME, "renamed", 0, 0, 0)));
  }
}

// None that a program with a recorder needs more of than without.
void change_a_limit(Run& run, unsigned value) {
  static const struct {
    __rlimit_resource which;
    rlim_t soft;
  } kLimits[] = {{RLIMIT_FSIZE, 0},   {RLIMIT_FSIZE, 1 << 20},      {RLIMIT_STACK, 1 << 20},
                 {RLIMIT_MEMLOCK, 0}, {RLIMIT_CORE, RLIM_INFINITY}, {RLIMIT_CPU, 1000},
                 {RLIMIT_NICE, 0},    {RLIMIT_SIGPENDING, 64}};
  const auto& chosen = kLimits[value % (sizeof kLimits / sizeof *kLimits)];
  rlimit limit = {};
  note(run, getrlimit(chosen.which, &limit));
  limit.rlim_cur = chosen.soft < limit.rlim_max ? chosen.soft : limit.rlim_max;
  note(run, setrlimit(chosen.which, &limit));
}

void change_by_prctl(Run& run, unsigned value) {
  switch (value % 6) {
    case 0:
      return note(run, prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
    case 1:
      return note(run, prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0));
    case 2:
      return note(run, prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
    case 3:
      return note(run, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    case 4:
      return note(run, syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    default:
      note(run, prctl(-1, 0, 0, 0, 0) < 0 ? errno : 0);
  }
}

}  // namespace dangerous
