// Handlers, on their own stacks too; faults that a program survives; ticks.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "operations.h"
#include "run.h"

namespace dangerous {

static thread_local Run* handler_run =
    nullptr;  // a handler goes on in the block of the operation that raised the signal

static void on_signal(int) {
  Run* const run = handler_run;
  if (run == nullptr) return;
  handler_run = nullptr;
  perform_block(*run);
}

static volatile sig_atomic_t ticks = 0;
static void on_tick(int) { ticks = ticks + 1; }

void perform_handler(Run& run, unsigned value) {
  stack_t other = {};
  stack_t before = {};
  if (value % 2 == 0) {
    other.ss_sp = value % 4 == 0
                      ? malloc(kStackBytes)
                      : mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other.ss_size = kStackBytes;
    note(run, static_cast<uint64_t>(sigaltstack(&other, &before)));
  }
  // Two signals, each with one action: an action that changes between threads could run on a stack that is in use.
  const bool on_other_stack = value % 2 == 0;
  const int number = on_other_stack ? SIGUSR2 : SIGUSR1;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_NODEFER | (on_other_stack ? SA_ONSTACK : 0);
  note(run, static_cast<uint64_t>(sigaction(number, &action, nullptr)));
  const char* const block = run.at;
  handler_run = &run;
  note(run, static_cast<uint64_t>(pthread_kill(pthread_self(), number)));
  handler_run = nullptr;
  if (other.ss_sp != nullptr) {
    // inside a handler on this stack the kernel refuses to change it: then the memory stays
    if (sigaltstack(&before, nullptr) == 0) {
      if (value % 4 == 0)
        free(other.ss_sp);
      else
        munmap(other.ss_sp, kStackBytes);
    }
  }
  run.at = block;
  skip_block(run);
}

// Faults are a matter of the whole process: one thread at a time, and no fork in between.
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
void lock_faults() { pthread_mutex_lock(&fault_lock); }
void unlock_faults() { pthread_mutex_unlock(&fault_lock); }

static sigjmp_buf after_fault;
static void on_fault(int) { siglongjmp(after_fault, 1); }

// The handler's stack is free again while it runs: another handler may be put on it.
void perform_disarmed_handler(Run& run, unsigned value) {
  constexpr unsigned kAutodisarm = 1u << 31;
  stack_t other = {};
  stack_t before = {};
  other.ss_sp = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  other.ss_size = kStackBytes;
  other.ss_flags = static_cast<int>(kAutodisarm);
  const bool is_set = sigaltstack(&other, &before) == 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK;
  note(run, sigaction(SIGUSR2, &action, nullptr));
  const char* const block = run.at;
  handler_run = &run;
  note(run, value % 2 == 0 ? pthread_kill(pthread_self(), SIGUSR2) : raise(SIGUSR2));
  handler_run = nullptr;
  if (!is_set || sigaltstack(&before, nullptr) == 0) munmap(other.ss_sp, kStackBytes);
  run.at = block;
  skip_block(run);
}

void survive_a_fault(Run& run, unsigned) {
  lock_faults();
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &before);
  void* const page = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sigsetjmp(after_fault, 1) == 0) {
    *static_cast<volatile char*>(page) = 1;
    note(run, 1);
  } else {
    note(run, 2);
  }
  munmap(page, kPageBytes);
  sigaction(SIGSEGV, &before, nullptr);
  unlock_faults();
}

void start_ticking(Run& run, unsigned value) {
  struct sigaction action = {};
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval each = {{0, 1000 + static_cast<int>(value % 5000)}, {0, 1000}};
  note(run, static_cast<uint64_t>(setitimer(ITIMER_PROF, &each, nullptr)));
}

}  // namespace dangerous
