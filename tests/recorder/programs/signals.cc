// Handlers that allocate, at a high rate, over a program that allocates. Argument 1: rounds; argument 2: "alternate"
// for an alternate stack, "jump" for handlers that longjmp out of the program's and the recorder's code, "step" for a
// handler after each instruction. A jump out of glibc's malloc breaks its heap: 2 of 250 such runs crashed without a
// recorder.
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
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
static volatile long steps = 0;
static volatile long first_step = 0;
static volatile bool with_next = false;
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
#if defined(__x86_64__)
  const auto pc = static_cast<std::uintptr_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
#else
  const std::uintptr_t pc = interrupted->uc_mcontext.pc;
#endif
  if (jumping && jump_now && (pc < libc_start || pc >= libc_end)) {
    jump_now = 0;
    siglongjmp(back, 1);
  }
}

#if defined(__x86_64__)
constexpr greg_t kTrapFlag = 0x100;

// The kernel ends a program that steps with SIGTRAP blocked. So what blocks all signals doesn't block that one, and the
// handler does nothing meanwhile. True if signals are blocked.
static bool are_blocked(greg_t* registers) {
  static constexpr std::uint16_t kSyscall = 0x050f;
  static bool blocked = false;
  static greg_t replaced = 0;  // the argument of the call just made
  static std::uint64_t set = 0;
  if (replaced != 0) registers[REG_RSI] = replaced;
  replaced = 0;
  std::uint16_t instruction = 0;
  std::memcpy(&instruction, reinterpret_cast<const void*>(registers[REG_RIP]), sizeof instruction);
  if (instruction != kSyscall || registers[REG_RAX] != SYS_rt_sigprocmask || registers[REG_RSI] == 0) return blocked;
  replaced = registers[REG_RSI];
  std::memcpy(&set, reinterpret_cast<const void*>(replaced), sizeof set);
  const bool names_signals = (set >> (SIGALRM - 1) & 1) != 0;
  if (registers[REG_RDI] == SIG_SETMASK) blocked = names_signals;
  if (registers[REG_RDI] == SIG_BLOCK && names_signals) blocked = true;
  if (registers[REG_RDI] == SIG_UNBLOCK && names_signals) blocked = false;
  set &= ~(std::uint64_t{1} << (SIGTRAP - 1));
  registers[REG_RSI] = reinterpret_cast<greg_t>(&set);
  return blocked;
}

// After each instruction outside of the allocator, but it allocates at few in a round: all together would make more
// events than the interrupted hook can write. These are one instruction, another in each round, perhaps the next one,
// and some at later places in the same hook, which depend on what the recorder noted at the first.
static void on_step(int, siginfo_t*, void* context) {
  constexpr long kLater = 50;
  constexpr long kLast = 4 * kLater;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (are_blocked(registers)) return;
  const auto pc = static_cast<std::uintptr_t>(registers[REG_RIP]);
  if (pc >= libc_start && pc < libc_end) return;
  steps = steps + 1;
  const long since = steps - first_step;
  if (since == kLast) registers[REG_EFL] &= ~kTrapFlag;
  if (since < 0 || since % kLater > (with_next ? 1 : 0)) return;
  handled = handled + 1;
  std::free(std::malloc(40));
}

static void set_stepping(bool wanted) {
  greg_t flags = 0;
  // Below the red zone.
  __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; pop %0; lea 128(%%rsp), %%rsp" : "=r"(flags)::"memory");
  flags = wanted ? flags | kTrapFlag : flags & ~kTrapFlag;
  __asm__ volatile("lea -128(%%rsp), %%rsp; push %0; popfq; lea 128(%%rsp), %%rsp" ::"r"(flags) : "memory", "cc");
}

// A round for each instruction of malloc or free, until none is left; and once more for each second one with its next.
static int step() {
  struct sigaction action = {};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  long rounds = 0;
  for (int pass = 0; pass < 4; ++pass) {
    with_next = pass % 2 == 1;
    first_step = 0;
    do {
      first_step = first_step + (with_next ? 2 : 1);
      ++rounds;
      steps = 0;
      set_stepping(pass < 2);
      void* volatile block = std::malloc(24);
      set_stepping(pass >= 2);
      std::free(block);
      set_stepping(false);
    } while (steps >= first_step);
  }
  std::printf("handled %ld\nrounds %ld\n", handled, rounds);
  return 0;
}
#else
static int step() { return 3; }  // a program can't step through itself
#endif

int main(int, char** arguments) {
  const long rounds = std::atol(arguments[1]);
  const bool alternate = std::strcmp(arguments[2], "alternate") == 0;
  std::free(std::malloc(40));
  std::free(std::malloc(24));
  jumping = std::strcmp(arguments[2], "jump") == 0;
  if (dl_iterate_phdr(find_libc, nullptr) == 0) return 2;
  if (std::strcmp(arguments[2], "step") == 0) return step();
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
