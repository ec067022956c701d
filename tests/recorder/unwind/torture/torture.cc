// Allocates from every kind of stack that is known to have broken an unwinder. Run under tare-unwind-check.so; asserts
// nothing itself but its own results: argv[1] is the folder with the plugins.
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <csetjmp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../arch_code.h"

#define NOINLINE __attribute__((noinline))

namespace {

volatile unsigned long g_sink;
void use(unsigned long value) { g_sink = g_sink + value; }

NOINLINE void touch(std::size_t bytes) {
  void* block = malloc(bytes);
  use(reinterpret_cast<std::uintptr_t>(block));
  free(block);
  use(1);
}

// Different callers with frames of the same shape: the case where comparing (sp, return address) of inner frames lies.
NOINLINE void shared_leaf(int n) {
  touch(static_cast<std::size_t>(n) + 1);
  use(1);
}
NOINLINE void caller_a(int n) {
  shared_leaf(n);
  use(1);
}
NOINLINE void caller_b(int n) {
  shared_leaf(n);
  use(2);
}
void same_shape() {
  for (int i = 0; i < 2000; ++i) {
    (i % 3 == 0 ? caller_a : caller_b)(i % 100);
    if (i % 7 == 0) shared_leaf(i % 50);
  }
}

// alloca: CFA from rbp. alignas(64): the frame is realigned, its CFA lies in memory.
NOINLINE void with_alloca(int n) {
  char* memory = static_cast<char*>(alloca(static_cast<std::size_t>(n) * 24 + 16));
  memory[0] = static_cast<char>(n);
  touch(static_cast<std::size_t>(memory[0]) + 9);
  use(1);
}
NOINLINE void realigned(int n) {
  alignas(64) char line[128];
  line[n & 127] = 1;
  touch(static_cast<std::size_t>(n) + static_cast<std::size_t>(line[0] & 1));
  with_alloca(n);
  use(static_cast<unsigned char>(line[5]));
}
NOINLINE void realigned_with_alloca(int n) {
  alignas(128) char line[256];
  char* memory = static_cast<char*>(alloca(static_cast<std::size_t>(n) * 16 + 16));
  memory[1] = line[n & 255] = 1;
  realigned(n);
  use(static_cast<unsigned char>(memory[1]));
}
void odd_frames() {
  for (int i = 0; i < 300; ++i) {
    with_alloca(i % 90);
    realigned(i % 100);
    realigned_with_alloca(i % 40);
  }
}

// A frame found by a register that callees preserve, as glibc's lazy binding trampoline on x86-64 has it.
extern "C" void tare_frame_by_register(void (*target)(int), int argument);
TARE_FRAME_BY_REGISTER("tare_frame_by_register");
void other_registers() {
  for (int i = 0; i < 100; ++i) tare_frame_by_register(realigned_with_alloca, i % 7);
}

std::jmp_buf g_jump;
NOINLINE void dive(int depth) {
  touch(40);
  if (depth == 0) longjmp(g_jump, 1);
  dive(depth - 1);
  use(1);
}
void jumps() {
  static int i;  // outlives the jumps
  for (i = 0; i < 200; ++i) {
    if (setjmp(g_jump) == 0) dive(i % 40);
    touch(24);
  }
}

struct Holder {
  std::string text = "a string too long for the small buffer of libstdc++";
  ~Holder() { touch(text.size()); }
};
NOINLINE void thrower(int depth) {
  Holder holder;
  if (depth == 0) throw std::runtime_error("an exception with a message that is allocated");
  thrower(depth - 1);
  use(1);
}
void throws() {
  for (int i = 0; i < 100; ++i) {
    try {
      thrower(i % 20);
    } catch (const std::exception& error) {
      touch(std::strlen(error.what()));
    }
  }
}

NOINLINE void handler_work(int depth) {
  touch(64);
  if (depth > 0) handler_work(depth - 1);
  use(1);
}
void on_signal(int) { handler_work(3); }
void on_jumping_signal(int) {
  handler_work(2);
  siglongjmp(g_jump, 1);
}
void signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < 200; ++i) {
    raise(SIGUSR1);
    touch(16);
  }
  // On a stack of its own.
  static char memory[64 << 10];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  sigaltstack(&stack, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  for (int i = 0; i < 200; ++i) {
    raise(SIGUSR2);
    touch(16);
  }
  // A fault in the middle of a function: the interrupted pc is no return address.
  action.sa_handler = on_jumping_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  static int i;  // outlives the jumps
  for (i = 0; i < 100; ++i) {
    if (sigsetjmp(g_jump, 1) == 0) {
      volatile int* nowhere = nullptr;
      *nowhere = i;
    }
    touch(24);
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  // A fault that nobody meant must kill: jumping back to a frame that is gone made an endless loop of faults.
  signal(SIGSEGV, SIG_DFL);
}

// A timer interrupts anything, also prologues and epilogues; the handler only allocates when the program itself is in
// code that doesn't (malloc isn't reentrant).
volatile sig_atomic_t g_interruptible;
void on_timer(int) {
  if (g_interruptible != 0) handler_work(1);
}
NOINLINE unsigned spin_leaf(unsigned n) { return n * 2654435761u + 1; }
NOINLINE unsigned spin(unsigned n) {
  alignas(64) volatile unsigned line[16] = {};
  for (unsigned i = 0; i < 50; ++i) line[i & 15] = spin_leaf(n + i);
  return line[n & 15];
}
void timers() {
  struct sigaction action{};
  action.sa_handler = on_timer;
  sigaction(SIGALRM, &action, nullptr);
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  itimerspec spec{};
  spec.it_interval.tv_nsec = spec.it_value.tv_nsec = 150'000;
  timer_settime(timer, 0, &spec, nullptr);
  g_interruptible = 1;
  for (unsigned i = 0; i < 300'000; ++i) use(spin(i));
  g_interruptible = 0;
  timer_delete(timer);
}

ucontext_t g_main_context;
ucontext_t g_contexts[3];
NOINLINE void coroutine_work(int depth, int who) {
  touch(static_cast<std::size_t>(32 + who));
  if (depth > 0) {
    coroutine_work(depth - 1, who);
  } else {
    swapcontext(&g_contexts[who], &g_main_context);
  }
  touch(static_cast<std::size_t>(48 + who));
}
void coroutine(int who) {
  for (int i = 0; i < 20; ++i) coroutine_work(i % 7, who);
}
void coroutines() {
  constexpr std::size_t kBytes = 64 << 10;
  for (int round = 0; round < 10; ++round) {
    void* stacks[3];
    for (int i = 0; i < 3; ++i) {
      stacks[i] = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      getcontext(&g_contexts[i]);
      g_contexts[i].uc_stack.ss_sp = stacks[i];
      g_contexts[i].uc_stack.ss_size = kBytes;
      g_contexts[i].uc_link = nullptr;
      makecontext(&g_contexts[i], reinterpret_cast<void (*)()>(coroutine), 1, i);
    }
    for (int i = 0; i < 57; ++i) {  // none gets to its end
      swapcontext(&g_main_context, &g_contexts[i % 3]);
      touch(20);
    }
    for (void* stack : stacks) munmap(stack, kBytes);
  }
}

// Two different objects that come to lie at the same address in turn.
void plugins(const std::string& folder) {
  using Function = unsigned long (*)(int);
  for (int i = 0; i < 200; ++i) {
    const std::string path = folder + (i % 2 == 0 ? "/tare-plugin-a.so" : "/tare-plugin-b.so");
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    const auto function = reinterpret_cast<Function>(dlsym(handle, "tare_plugin"));
    if (function == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    use(function(i % 10));
    dlclose(handle);
    touch(8);
  }
}

void processes() {
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      same_shape();
      odd_frames();
      exit(0);
    }
    waitpid(child, nullptr, 0);
    touch(33);
  }
  for (int i = 0; i < 5; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", static_cast<char*>(nullptr));
      _exit(1);
    }
    waitpid(child, nullptr, 0);
    touch(34);
  }
  for (int i = 0; i < 5; ++i) {  // fork past libc: no atfork handler runs
    const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) {
      caller_a(3);
      syscall(SYS_exit_group, 0);
    }
    waitpid(static_cast<pid_t>(child), nullptr, 0);
    touch(35);
  }
}

void threads() {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
      all.emplace_back([i] {
        same_shape();
        throws();
        odd_frames();
        touch(static_cast<std::size_t>(i));
      });
    }
    for (std::thread& thread : all) thread.join();
  }
}

// The asm keeps the compiler from making loops of them.
NOINLINE void recurse(int depth, int period) {
  if (depth % period == 0) touch(static_cast<std::size_t>(depth % 64 + 1));
  if (depth > 0) recurse(depth - 1, period);
  __asm__ volatile("" ::: "memory");
  if (depth % period == 0) touch(16);
}
// Arguments on the stack and a realigned frame: the CFA lies in memory (DW_OP_breg6; DW_OP_deref).
NOINLINE void recurse_realigned(int depth, int a, int b, int c, int d, int e, int f, int g) {
  alignas(64) volatile char line[64] = {};
  char* memory = static_cast<char*>(alloca(static_cast<std::size_t>(depth) + 16));
  memory[depth] = static_cast<char>(a + b + c + d + e + f + g);
  touch(static_cast<std::size_t>(depth % 64 + 1));
  if (depth > 0) recurse_realigned(depth - 1, b, c, d, e, f, g, memory[depth]);
  use(line[3]);
}

}  // namespace

int main(int argc, char** argv) {
  same_shape();
  odd_frames();
  other_registers();
  jumps();
  throws();
  signals();
  if (argc <= 2) timers();  // under an emulator, handlers take longer than the interval
  coroutines();
  if (argc > 1) plugins(argv[1]);
  processes();
  threads();
  recurse(5000, 50);
  recurse(20000, 100);  // deeper than is kept
  recurse_realigned(300, 1, 2, 3, 4, 5, 6, 7);
  same_shape();
  return 0;
}
