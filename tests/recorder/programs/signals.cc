// Handlers that allocate, at a high rate, over a program that allocates. Argument 1: rounds; argument 2: "alternate"
// for an alternate stack, "jump" for handlers that longjmp out of the program's and the recorder's code. A jump out of
// glibc's malloc breaks its heap: 2 of 250 such runs crashed without a recorder.
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static sigjmp_buf back;
static volatile sig_atomic_t jump_now = 0;
static bool jumping;
static volatile long handled = 0;
static std::uintptr_t libc_start = 0;
static std::uintptr_t libc_end = 0;

static int find_libc(dl_phdr_info* object, std::size_t, void*) {
  if (std::strstr(object->dlpi_name, "/libc.so") == nullptr) return 0;
  libc_start = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    const std::uintptr_t end = object->dlpi_addr + header.p_vaddr + header.p_memsz;
    if (header.p_type == PT_LOAD && end > libc_end) libc_end = end;
  }
  return 1;
}

// Its size isn't the interrupted program's: with both in glibc's per-thread cache, neither disturbs the other.
static void handler(int, siginfo_t*, void* context) {
  handled = handled + 1;
  void* block = std::malloc(40);
  std::free(block);
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const auto pc = static_cast<std::uintptr_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
  if (jumping && jump_now && (pc < libc_start || pc >= libc_end)) {
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
  if (dl_iterate_phdr(find_libc, nullptr) == 0) return 2;
  if (alternate) {
    stack_t stack = {};
    stack.ss_size = 64 << 10;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | (alternate ? SA_ONSTACK : 0);
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
