// tare-unwind-check.so: preloaded, compares the recorder's stack with another unwinder's at every allocation of a real
// program.
//
//   TARE_CHECK_MODE   compare (default); capture: only ours, for timing; hook: neither, to subtract
//   TARE_CHECK_SHOW   mismatching stacks to print (default 5)
//   TARE_CHECK_OUT    file that the result line is appended to (default: standard error)
//
// Stacks are put together from {kept, fresh} as a reader of the trace does it, so that the bookkeeping is checked too.
// Counts lie in shared memory: a forked child's go to its parent's sum. A new image (exec) has its own line.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#else
#include <execinfo.h>
#endif

#include "recorder/arch/arch.h"
#include "recorder/unwind/unwind.h"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
}

namespace {

using tare::recorder::Capture;
using tare::recorder::StartState;
using tare::recorder::Tables;
using tare::recorder::Unwinder;
namespace trace = tare::trace;

constexpr std::uint32_t kTheirFrames = trace::kMaxFrames + 256;

enum class Mode : std::uint8_t { Off, Hook, Capture, Compare };

struct Totals {
  std::atomic<std::uint64_t> deepest, stacks, equal, deep, incomplete, truncated, kept, fresh, cycles, shown;
};

struct Thread {
  Unwinder unwinder;
  std::uint32_t busy;
  std::uint32_t depth;
  std::uint32_t rows[trace::kMaxFrames + 1];  // the stack as decoded, outermost first
  void* theirs[kTheirFrames];
};

template <typename T>
T* map_memory(std::uint64_t count, int visibility) {
  void* memory =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, visibility | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

std::atomic<Mode> g_mode{Mode::Off};
Totals* g_totals = nullptr;
Tables g_tables;
std::atomic<std::uint32_t> g_row_count{0};
std::atomic<std::uint32_t> g_module_count{0};
std::atomic<std::uint32_t> g_string_bytes{0};
std::uint64_t g_show = 5;
int g_main_pid = 0;
thread_local __attribute__((tls_model("initial-exec"))) Thread* t_thread = nullptr;

// Exact where stacks are compared; where they are timed, an atomic addition would cost more than a frame.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
  if (g_mode.load(std::memory_order_relaxed) == Mode::Compare) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
}

using tare::recorder::arch::ticks;

// Another unwinder: libunwind, which is fast, where it knows the machine's signed return addresses; else backtrace().
#if defined(__x86_64__)
constexpr char kOther[] = "libunwind";
int other_stack(void** frames, std::uint32_t most) { return unw_backtrace(frames, static_cast<int>(most)); }
void prepare_other() { unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD); }
void other_forgets() { unw_flush_cache(unw_local_addr_space, 0, 0); }
#else
constexpr char kOther[] = "backtrace()";
int other_stack(void** frames, std::uint32_t most) { return backtrace(frames, static_cast<int>(most)); }
void prepare_other() {  // it loads its library at its first call
  void* frame = nullptr;
  backtrace(&frame, 1);
}
void other_forgets() {}
#endif

void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
void say(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (write(2, line, static_cast<std::size_t>(length)) < 0) return;
}

std::uint64_t address_at(std::uint32_t row) { return g_tables.rows[row].bits & ((std::uint64_t{1} << 48) - 1); }

void describe(const char* who, std::uint32_t position, std::uint64_t address) {
  Dl_info info{};
  if (address != 0 && dladdr(reinterpret_cast<void*>(address - 1), &info) != 0) {
    say("  %s %4u %lx %s+%lx %s\n", who, position, address, info.dli_fname,
        address - reinterpret_cast<std::uint64_t>(info.dli_fbase), info.dli_sname != nullptr ? info.dli_sname : "");
  } else {
    say("  %s %4u %lx\n", who, position, address);
  }
}

// Is this the return address of a signal handler?
bool is_signal_return(std::uint64_t address) {
#if defined(__x86_64__)
  static const std::uint8_t kCode[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // mov $15, %rax; syscall
#else
  static const std::uint8_t kCode[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};  // mov x8, #139; svc #0
#endif
  return std::memcmp(reinterpret_cast<const void*>(address), kCode, sizeof(kCode)) == 0;
}

// Ours innermost first, like theirs. The interrupted pc above a signal frame is stored + 1: the same frame.
bool same_frame(const Thread& thread, std::uint32_t position, const void* theirs) {
  const std::uint64_t ours = address_at(thread.rows[thread.depth - 1 - position]);
  const auto their = reinterpret_cast<std::uint64_t>(theirs);
  if (ours == their) return true;
  return position > 0 && ours == their + 1 && is_signal_return(address_at(thread.rows[thread.depth - position]));
}

void show(const Thread& thread, std::uint32_t from, std::uint32_t theirs) {
  say("mismatch in pid %d: ours %u frames, %s's %u\n", getpid(), thread.depth, kOther, theirs);
  std::uint32_t first = 0;
  while (first < thread.depth && first < theirs && same_frame(thread, first, thread.theirs[from + first])) ++first;
  const std::uint32_t start = first > 3 ? first - 3 : 0;
  for (std::uint32_t i = start; i < first + 6 && i < thread.depth; ++i) {
    describe("ours  ", i, address_at(thread.rows[thread.depth - 1 - i]));
  }
  for (std::uint32_t i = start; i < first + 6 && i < theirs; ++i) {
    describe("theirs", i, reinterpret_cast<std::uint64_t>(thread.theirs[from + i]));
  }
}

void compare(Thread& thread, const StartState& start, const Capture& capture) {
  const int found = other_stack(thread.theirs, kTheirFrames);
  std::uint32_t from = 0;
  while (from < 16 && thread.theirs[from] != reinterpret_cast<void*>(start.return_address)) ++from;
  std::uint32_t theirs = found > static_cast<int>(from) ? static_cast<std::uint32_t>(found) - from : 0;
  if (capture.truncated && theirs > thread.depth) {
    theirs = thread.depth;  // as far as ours goes
    g_totals->deep.fetch_add(1, std::memory_order_relaxed);
  }
  bool equal = theirs == thread.depth;
  for (std::uint32_t i = 0; equal && i < theirs; ++i) equal = same_frame(thread, i, thread.theirs[from + i]);
  if (equal) {
    g_totals->equal.fetch_add(1, std::memory_order_relaxed);
  } else if (g_totals->shown.fetch_add(1, std::memory_order_relaxed) < g_show) {
    show(thread, from, theirs);
  }
}

__attribute__((noinline)) void on_allocation(const StartState& start) {
  if (g_mode.load(std::memory_order_relaxed) == Mode::Off) return;
  Thread* thread = t_thread;
  if (thread == nullptr) {
    thread = map_memory<Thread>(1, MAP_PRIVATE);
    if (thread == nullptr) return;
    t_thread = thread;
  }
  if (thread->busy != 0 || g_mode.load(std::memory_order_relaxed) == Mode::Hook) return;
  thread->busy = 1;
  const std::uint64_t before = ticks();
  const Capture capture = thread->unwinder.capture(start);
  const std::uint64_t after = ticks();
  add(g_totals->stacks, 1);
  add(g_totals->kept, capture.kept);
  add(g_totals->fresh, capture.fresh);
  add(g_totals->cycles, after - before);
  if (capture.depth > g_totals->deepest.load(std::memory_order_relaxed)) g_totals->deepest = capture.depth;
  if (!capture.complete) add(g_totals->incomplete, 1);
  if (capture.truncated) add(g_totals->truncated, 1);
  if (g_mode.load(std::memory_order_relaxed) == Mode::Compare) {
    if (capture.kept > thread->depth || capture.kept + capture.fresh != capture.depth) {
      say("impossible capture: kept %u fresh %u depth %u of %u\n", capture.kept, capture.fresh, capture.depth,
          thread->depth);
      abort();
    }
    for (std::uint32_t i = 0; i < capture.fresh; ++i) {
      thread->rows[capture.kept + i] = capture.rows[capture.fresh - 1 - i];
    }
    thread->depth = capture.depth;
    compare(*thread, start, capture);
    // The work of a chunk switch, at an uneven interval.
    if (g_totals->stacks.load(std::memory_order_relaxed) % 1021 == 0) {
      thread->unwinder.forget();
      tare::recorder::revalidate_modules();
    }
  }
  thread->busy = 0;
}

bool ensure(void*, Tables::Region, std::uint64_t) { return true; }

void attach() { tare::recorder::attach_tables(g_tables); }

void report() {
  if (g_mode.load() == Mode::Off || getpid() != g_main_pid) return;
  g_mode = Mode::Off;
  char exe[512] = "?";
  const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
  if (length > 0) exe[length] = '\0';
  const char* name = strrchr(exe, '/');
  const auto counters = tare::recorder::unwind_counters();
  const double per = g_totals->stacks.load() > 0 ? static_cast<double>(g_totals->stacks.load()) : 1;
  char line[1024];
  const int bytes = snprintf(
      line, sizeof(line),
      "%s: %lu stacks, %lu equal (%.5f %%), %lu differ, %lu deeper than kept, %lu truncated, %lu incomplete, deepest "
      "%lu; kept %.1f fresh %.1f a stack, %.0f ticks; %u rows, %u modules, %lu retired, %lu lost, %lu unknown pcs, %lu "
      "full walks\n",
      name != nullptr ? name + 1 : exe, g_totals->stacks.load(), g_totals->equal.load(),
      100.0 * static_cast<double>(g_totals->equal.load()) / per, g_totals->shown.load(), g_totals->deep.load(),
      g_totals->truncated.load(), g_totals->incomplete.load(), g_totals->deepest.load(),
      static_cast<double>(g_totals->kept.load()) / per, static_cast<double>(g_totals->fresh.load()) / per,
      static_cast<double>(g_totals->cycles.load()) / per, g_row_count.load(), g_module_count.load(),
      counters.rows_retired, counters.rows_lost, counters.unknown_pcs, counters.full_walks);
  const char* path = getenv("TARE_CHECK_OUT");
  const int out = path != nullptr ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : 2;
  if (write(out, line, static_cast<std::size_t>(bytes)) < 0) return;
}

__attribute__((constructor)) void begin() {
  Mode mode = Mode::Compare;
  if (const char* wanted = getenv("TARE_CHECK_MODE"); wanted != nullptr) {
    if (strcmp(wanted, "capture") == 0) mode = Mode::Capture;
    if (strcmp(wanted, "hook") == 0) mode = Mode::Hook;
  }
  if (const char* show_count = getenv("TARE_CHECK_SHOW"); show_count != nullptr)
    g_show = strtoul(show_count, nullptr, 10);
  g_totals = map_memory<Totals>(1, MAP_SHARED);
  g_tables.rows = map_memory<trace::Row>(trace::kMaxRows, MAP_PRIVATE);
  g_tables.modules = map_memory<trace::ModuleEntry>(trace::kMaxModules, MAP_PRIVATE);
  g_tables.strings = map_memory<char>(trace::kMaxStringBytes, MAP_PRIVATE);
  g_tables.row_count = &g_row_count;
  g_tables.module_count = &g_module_count;
  g_tables.module_limit = tare::trace::kMaxModules;
  g_tables.string_bytes = &g_string_bytes;
  g_tables.ensure = ensure;
  attach();
  pthread_atfork(nullptr, nullptr, attach);
  prepare_other();
  g_main_pid = getpid();
  atexit(report);
  g_mode = mode;
}

}  // namespace

#define START_STATE                                                                \
  StartState {                                                                     \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), TARE_CALLERS_SP, \
        *static_cast<std::uint64_t*>(__builtin_frame_address(0))                   \
  }

#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

EXPORT void* malloc(std::size_t bytes) {
  void* block = __libc_malloc(bytes);
  on_allocation(START_STATE);
  return block;
}

EXPORT void* calloc(std::size_t count, std::size_t bytes) {
  void* block = __libc_calloc(count, bytes);
  on_allocation(START_STATE);
  return block;
}

EXPORT void* realloc(void* old, std::size_t bytes) {
  void* block = __libc_realloc(old, bytes);
  on_allocation(START_STATE);
  return block;
}

EXPORT int dlclose(void* handle) {
  using Function = int (*)(void*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "dlclose"));
  const int result = real(handle);
  tare::recorder::modules_changed();
  other_forgets();
  return result;
}

EXPORT int munmap(void* address, std::size_t bytes) noexcept {
  const auto result = static_cast<int>(syscall(SYS_munmap, address, bytes));
  tare::recorder::mappings_changed();
  return result;
}

// Programs that leave past atexit would leave no line.
EXPORT void _exit(int status) {
  report();
  for (;;) syscall(SYS_exit_group, status);
}
