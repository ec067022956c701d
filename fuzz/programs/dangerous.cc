// Performs a script of calls that a recorder could get wrong, and prints a digest of what they returned.
//
// The digest depends on the script alone, not on addresses, times or the order of threads, so that two runs of a script
// can be compared. The script is argv[1]: an operation is a letter, a number, and for some a block in parentheses.
// generate.py lists the operations.
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>

extern char** environ;

namespace {

constexpr size_t kSlots = 16;
constexpr size_t kStackBytes = 1 << 20;  // four blocks within each other, each 50 frames deep, need a tenth
constexpr size_t kPageBytes = 4096;

struct Slot {
  unsigned char* bytes = nullptr;
  size_t size_bytes = 0;
};

/// One thread of a script: its place in the text, its blocks and its digest.
struct Run {
  const char* at;
  Slot slots[kSlots];
  uint64_t digest = 1469598103934665603u;
};

thread_local Run* handler_run = nullptr;  // a handler goes on in the block of the operation that raised the signal
char* program_path = nullptr;

void note(Run& run, uint64_t value) { run.digest = (run.digest ^ value) * 1099511628211u; }

void perform_block(Run& run);

unsigned number(Run& run) {
  unsigned value = 0;
  while (*run.at >= '0' && *run.at <= '9') value = value * 10 + static_cast<unsigned>(*run.at++ - '0');
  return value;
}

void skip_block(Run& run) {
  if (*run.at != '(') return;
  int depth = 0;
  do {
    depth += *run.at == '(';
    depth -= *run.at == ')';
    ++run.at;
  } while (depth > 0 && *run.at != '\0');
}

size_t size_of(unsigned value) {
  return value % 7 == 0 ? size_t{value} * 611 : value % 3 == 0 ? value % 2048 : value % 96;
}

void fill(Slot& slot, unsigned value) {
  for (size_t i = 0; i < slot.size_bytes; i += 61) slot.bytes[i] = static_cast<unsigned char>(value + i);
}

void check(Run& run, const Slot& slot) {
  uint64_t sum = 0;
  for (size_t i = 0; i < slot.size_bytes; i += 61) sum = sum * 31 + slot.bytes[i];
  note(run, sum);
}

void drop(Run& run, Slot& slot) {
  if (slot.bytes == nullptr) return;
  check(run, slot);
  free(slot.bytes);
  slot = {};
}

void allocate(Run& run, unsigned value) {
  Slot& slot = run.slots[value % kSlots];
  drop(run, slot);
  slot.size_bytes = size_of(value);
  void* bytes = nullptr;
  switch (value % 6) {
    case 0:
      bytes = calloc(slot.size_bytes, 1);
      break;
    case 1:
      note(run, static_cast<uint64_t>(posix_memalign(&bytes, size_t{16} << value % 9, slot.size_bytes)));
      break;
    case 2:
      bytes = aligned_alloc(64, (slot.size_bytes + 63) & ~size_t{63});
      break;
    case 3:
      bytes = reallocarray(nullptr, slot.size_bytes, 1);
      break;
    default:
      bytes = malloc(slot.size_bytes);
  }
  slot.bytes = static_cast<unsigned char*>(bytes);
  note(run, bytes != nullptr);
  if (bytes == nullptr) slot.size_bytes = 0;
  if (bytes != nullptr) note(run, malloc_usable_size(bytes) >= slot.size_bytes);
  fill(slot, value);
}

void resize(Run& run, unsigned value) {
  Slot& slot = run.slots[value % kSlots];
  const size_t size_bytes = size_of(value * 5 + 1) + 1;
  auto* const bytes = static_cast<unsigned char*>(realloc(slot.bytes, size_bytes));
  note(run, bytes != nullptr);
  if (bytes == nullptr) return;
  if (slot.size_bytes > size_bytes) slot.size_bytes = size_bytes;
  slot.bytes = bytes;
  check(run, slot);
  slot.size_bytes = size_bytes;
  fill(slot, value);
}

void fail_to_allocate(Run& run) {
  volatile size_t much = SIZE_MAX / 2;
  errno = 0;
  void* const block = malloc(much);
  note(run, block == nullptr ? static_cast<uint64_t>(errno) : 0);
  try {
    delete[] new char[much];
    note(run, 1);
  } catch (const std::bad_alloc&) {
    note(run, 2);
  }
  note(run, new (std::nothrow) char[much] == nullptr);
}

void use_mapping(Run& run, unsigned value) {
  const size_t pages = 2 + value % 40;
  const size_t size_bytes = pages * kPageBytes;
  auto* bytes = static_cast<unsigned char*>(
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  note(run, bytes != MAP_FAILED);
  if (bytes == MAP_FAILED) return;
  bytes[size_bytes - 1] = 7;
  if (value % 2 == 0) note(run, static_cast<uint64_t>(mprotect(bytes, kPageBytes, PROT_NONE)));
  if (value % 3 == 0) {
    void* const moved = mremap(bytes + kPageBytes, size_bytes - kPageBytes, 2 * size_bytes, MREMAP_MAYMOVE);
    note(run, moved != MAP_FAILED);
    note(run, static_cast<unsigned char*>(moved)[size_bytes - kPageBytes - 1]);
    note(run, static_cast<uint64_t>(munmap(moved, 2 * size_bytes)));
    note(run, static_cast<uint64_t>(munmap(bytes, kPageBytes)));
    return;
  }
  // piece by piece: another thread may map what was unmapped at once
  note(run, static_cast<uint64_t>(munmap(bytes + kPageBytes, size_bytes - kPageBytes)));
  note(run, static_cast<uint64_t>(munmap(bytes, kPageBytes)));
}

void protect_inside_a_block(Run& run, unsigned value) {
  const size_t size_bytes = (64 + value % 512) * kPageBytes;
  auto* const block = static_cast<unsigned char*>(malloc(size_bytes));
  note(run, block != nullptr);
  if (block == nullptr) return;
  memset(block, 3, size_bytes / 2);
  auto* const page =
      reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(block) + 8 * kPageBytes) & ~(kPageBytes - 1));
  note(run, static_cast<uint64_t>(mprotect(page, kPageBytes, value % 2 == 0 ? PROT_NONE : PROT_READ)));
  perform_block(run);
  // a block of pages of its own may go back with a page that can't be read; one of the heap must not
  note(run, static_cast<uint64_t>(mprotect(page, kPageBytes, PROT_READ | PROT_WRITE)));
  note(run, block[size_bytes / 2 - 1]);
  free(block);
}

void give_back(Run& run, unsigned value) {
  void* blocks[32];
  for (void*& block : blocks) block = malloc(value % 60000 + 1000);
  for (void* block : blocks) free(block);
  malloc_trim(0);
  note(run, 1);
}

// ---- threads

struct Thread {
  Run run;
  pthread_key_t key;
  unsigned value;
};

// Neither on the stack of the thread that starts them, which in the child of a started thread's fork is the next
// thread's, nor from malloc: pthread_create() is then the first call that a recorder sees.
constexpr unsigned kMaxThreads = 4096;
Thread all_threads[kMaxThreads];
std::atomic<unsigned> threads_used = 0;

void at_thread_end(void* held) {
  free(held);
  free(malloc(123));
}

void* perform_thread(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  if (thread.value % 2 == 0) pthread_setspecific(thread.key, malloc(77));
  perform_block(thread.run);
  if (thread.value % 3 == 0) pthread_exit(nullptr);
  return nullptr;
}

void perform_threads(Run& run, unsigned value) {
  const unsigned count = 1 + value % 4;
  const unsigned first = threads_used.fetch_add(count, std::memory_order_relaxed);
  if (first + count > kMaxThreads) {
    fprintf(stderr, "dangerous: a script of more than %u threads\n", kMaxThreads);
    _exit(2);
  }
  Thread* const threads = &all_threads[first];
  pthread_t ids[4];
  void* stacks[4] = {};
  pthread_key_t key;
  pthread_key_create(&key, at_thread_end);
  for (unsigned i = 0; i < count; ++i) {
    threads[i] = {{run.at, {}}, key, value};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (value % 5 == 0) {
      // the stack of the program's own that is gone at once when the thread is
      stacks[i] = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      pthread_attr_setstack(&attributes, stacks[i], kStackBytes);
    }
    note(run, static_cast<uint64_t>(pthread_create(&ids[i], &attributes, perform_thread, &threads[i])));
    pthread_attr_destroy(&attributes);
  }
  for (unsigned i = 0; i < count; ++i) {
    pthread_join(ids[i], nullptr);
    if (stacks[i] != nullptr) munmap(stacks[i], kStackBytes);
    note(run, threads[i].run.digest);
  }
  pthread_key_delete(key);
  skip_block(run);
}

void cancel_a_thread(Run& run) {
  pthread_t id;
  const auto wait = [](void*) -> void* {
    free(malloc(321));
    for (;;) pause();
  };
  note(run, static_cast<uint64_t>(pthread_create(&id, nullptr, wait, nullptr)));
  note(run, static_cast<uint64_t>(pthread_cancel(id)));
  void* end = nullptr;
  pthread_join(id, &end);
  note(run, end == PTHREAD_CANCELED);
}

// ---- processes

void note_end(Run& run, pid_t child) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
  note(run, ended == child ? static_cast<uint64_t>(status & 0xff7f) : 1u << 20);  // a core file is the system's matter
}

void perform_fork(Run& run, unsigned value) {
  fflush(stdout);
  const pid_t child = fork();
  note(run, child >= 0);
  if (child == 0) {
    perform_block(run);
    const int status = static_cast<int>(run.digest % 100);
    switch (value % 5) {
      case 0:
        _exit(status);
      case 1:
        abort();
      case 2:
        raise(SIGKILL);
        break;
      case 3:
        syscall(SYS_exit_group, status);
        break;
      default:
        break;
    }
    exit(status);
  }
  note_end(run, child);
  skip_block(run);
}

void start_program(Run& run, unsigned value) {
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  pid_t child = 0;
  if (value % 3 == 0) {
    note(run, static_cast<uint64_t>(posix_spawn(&child, name, nullptr, nullptr, arguments, environ)));
  } else if (value % 3 == 1) {
    child = vfork();
    if (child == 0) {
      execve(name, arguments, environ);
      _exit(126);
    }
  } else {
    note(run, static_cast<uint64_t>(system("exit 9")));
    return;
  }
  note_end(run, child);
}

void exec_itself(Run& run, unsigned value) {
  const char* const begin = run.at;
  skip_block(run);
  char script[4096];
  const auto length = static_cast<size_t>(run.at - begin);
  if (length < 2 || length - 2 >= sizeof script) return;
  memcpy(script, begin + 1, length - 2);
  script[length - 2] = '\0';
  const pid_t child = fork();
  note(run, child >= 0);
  if (child == 0) {
    char* arguments[] = {program_path, script, nullptr};
    char* nothing[] = {nullptr};
    const int sink = open("/dev/null", O_WRONLY);
    dup2(sink, 1);
    execve(program_path, arguments, value % 3 == 0 ? nothing : environ);
    _exit(126);
  }
  note_end(run, child);
}

// ---- signals

void on_signal(int) {
  Run* const run = handler_run;
  if (run == nullptr) return;
  handler_run = nullptr;
  perform_block(*run);
}

volatile sig_atomic_t ticks = 0;
void on_tick(int) { ticks = ticks + 1; }

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
pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
void lock_faults() { pthread_mutex_lock(&fault_lock); }
void unlock_faults() { pthread_mutex_unlock(&fault_lock); }

sigjmp_buf after_fault;
void on_fault(int) { siglongjmp(after_fault, 1); }

void survive_a_fault(Run& run) {
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

// ---- stacks

thread_local Run* coroutine_run = nullptr;
thread_local ucontext_t* coroutine_caller = nullptr;

void coroutine_body() {
  Run* const run = coroutine_run;
  ucontext_t* const caller = coroutine_caller;
  perform_block(*run);
  setcontext(caller);
}

void perform_coroutine(Run& run, unsigned value) {
  void* const stack = value % 2 == 0
                          ? malloc(kStackBytes)
                          : mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ucontext_t own;
  ucontext_t other;
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = kStackBytes;
  other.uc_link = nullptr;
  makecontext(&other, coroutine_body, 0);
  const char* const block = run.at;
  coroutine_run = &run;
  coroutine_caller = &own;
  note(run, static_cast<uint64_t>(swapcontext(&own, &other)));
  if (value % 2 == 0)
    free(stack);
  else
    munmap(stack, kStackBytes);
  run.at = block;
  skip_block(run);
}

[[gnu::noinline]] void throw_deep(unsigned depth) {
  if (depth == 0) throw std::runtime_error("deep enough");
  volatile char* const room = static_cast<char*>(alloca(depth * 16));
  room[0] = 1;
  throw_deep(depth - 1);
}

void throw_and_catch(Run& run, unsigned value) {
  try {
    throw_deep(value % 50);
  } catch (const std::exception& error) {
    note(run, strlen(error.what()));
  }
}

void recurse(Run& run, unsigned depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  if (depth == 0)
    perform_block(run);
  else
    recurse(run, depth - 1);
  note(run, static_cast<uint64_t>(room[0]));
}

// ---- the process as a whole

void load_library(Run& run, unsigned value) {
  static const char* const kNames[] = {"libm.so.6", "libz.so.1", "libresolv.so.2", "no-such-library.so"};
  const char* const name = kNames[value % 4];
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
  note(run, static_cast<uint64_t>(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)));
  note(run, syscall(SYS_acct, nullptr) == 0 ? 0 : static_cast<uint64_t>(errno));
}

void change_the_process(Run& run, unsigned value) {
  switch (value % 8) {
    case 0:
      note(run, static_cast<uint64_t>(syscall(SYS_close_range, 3, ~0u, 0)));
      break;
    case 1: {
      const rlimit few = {64, 64};
      note(run, static_cast<uint64_t>(setrlimit(RLIMIT_NOFILE, &few)));
      break;
    }
    case 2:
      note(run, static_cast<uint64_t>(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)));
      break;
    case 3:
      note(run, static_cast<uint64_t>(clearenv()));
      break;
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

void perform(Run& run, char operation, unsigned value) {
  switch (operation) {
    case 'a':
      return allocate(run, value);
    case 'r':
      return resize(run, value);
    case 'f':
      return drop(run, run.slots[value % kSlots]);
    case 'x':
      return fail_to_allocate(run);
    case 'm':
      return use_mapping(run, value);
    case 'p':
      return protect_inside_a_block(run, value);
    case 'g':
      return give_back(run, value);
    case 't':
      return perform_threads(run, value);
    case 'c':
      return cancel_a_thread(run);
    case 'k':
      return perform_fork(run, value);
    case 's':
      return start_program(run, value);
    case 'e':
      return exec_itself(run, value);
    case 'h':
      return perform_handler(run, value);
    case 'v':
      return survive_a_fault(run);
    case 'i':
      return start_ticking(run, value);
    case 'o':
      return perform_coroutine(run, value);
    case 'w':
      return throw_and_catch(run, value);
    case 'd':
      return recurse(run, value % 50);
    case 'l':
      return load_library(run, value);
    case 'b':
      return filter_calls(run, value);
    case 'z':
      return change_the_process(run, value);
    case 'A':
      abort();
    case 'X':
      exit(static_cast<int>(value % 100));
    default:
      fprintf(stderr, "dangerous: unknown operation '%c'\n", operation);
      _exit(2);
  }
}

void perform_script(Run& run) {
  while (*run.at != '\0' && *run.at != ')') {
    const char operation = *run.at++;
    const unsigned value = number(run);
    perform(run, operation, value);
    skip_block(run);
    note(run, static_cast<uint64_t>(operation));
  }
}

/// Performs the block at run.at, if there is one, and leaves run.at behind it.
void perform_block(Run& run) {
  if (*run.at != '(') return;
  const char* const block = run.at;
  ++run.at;
  perform_script(run);
  run.at = block;
  skip_block(run);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: dangerous SCRIPT (generate.py makes them)\n");
    return 2;
  }
  pthread_atfork(lock_faults, unlock_faults, unlock_faults);
  program_path = realpath("/proc/self/exe", nullptr);
  Run run{arguments[1], {}};
  perform_script(run);
  for (Slot& slot : run.slots) drop(run, slot);
  printf("%016llx\n", static_cast<unsigned long long>(run.digest));
  return 0;
}
