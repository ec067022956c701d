// Handlers that allocate, at a high rate, over a program that allocates. Argument 1: rounds; argument 2: "alternate"
// for an alternate stack, "jump" for handlers that longjmp out of whatever they interrupt.
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static sigjmp_buf back;
static volatile sig_atomic_t jump_now = 0;
static bool jumping;
static volatile long handled = 0;

// Its size isn't the interrupted program's: with both in glibc's per-thread cache, neither disturbs the other.
static void handler(int) {
  handled = handled + 1;
  void* block = std::malloc(40);
  std::free(block);
  if (jumping && jump_now) {
    jump_now = 0;
    siglongjmp(back, 1);
  }
}

int main(int, char** arguments) {
  const long rounds = std::atol(arguments[1]);
  const bool alternate = std::strcmp(arguments[2], "alternate") == 0;
  std::free(std::malloc(40));
  std::free(std::malloc(24));
  jumping = std::strcmp(arguments[2], "jump") == 0;
  if (alternate) {
    stack_t stack = {};
    stack.ss_size = 64 << 10;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | (alternate ? SA_ONSTACK : 0);
  sigaction(SIGALRM, &action, nullptr);
  itimerval often = {{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, nullptr);
  volatile long i = 0;
  volatile long jumped = 0;
  if (sigsetjmp(back, 1) != 0) jumped = jumped + 1;
  // On a busy machine few signals arrive: go on until one has jumped.
  while (i < rounds || (jumping && jumped == 0 && i < 100 * rounds)) {
    jump_now = i % 64 == 0;
    void* block = std::malloc(24);
    jump_now = 0;
    std::free(block);
    i = i + 1;
  }
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  for (int k = 0; k < 100; ++k) std::free(std::malloc(4321));
  std::printf("handled %ld\njumped %ld\n", handled, jumped);
  return 0;
}
