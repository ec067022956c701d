// Captures with reuse against captures without, over random walks through functions of many frame shapes.
#include <alloca.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <random>
#include <thread>
#include <vector>

#include "../arch_code.h"
#include "recorder/arch/arch.h"
#include "recorder/unwind/modules.h"
#include "recorder/unwind/unwind.h"

namespace tare::recorder {
namespace {

#define NOINLINE __attribute__((noinline))
#define KEEP_FRAME __asm__ volatile("" ::: "memory")

template <typename T>
T* map_zeroed(std::uint64_t count) {
  void* memory =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return static_cast<T*>(memory);
}

struct PrivateTables {
  Tables tables{};
  std::atomic<std::uint32_t> rows{0};
  std::atomic<std::uint32_t> modules{0};
  std::atomic<std::uint32_t> strings{0};

  PrivateTables() {
    tables.rows = map_zeroed<trace::Row>(trace::kMaxRows);
    tables.modules = map_zeroed<trace::ModuleEntry>(trace::kMaxModules);
    tables.strings = map_zeroed<char>(trace::kMaxStringBytes);
    tables.row_count = &rows;
    tables.module_count = &modules;
    tables.module_limit = trace::kMaxModules;
    tables.string_bytes = &strings;
    tables.ensure = [](void*, Tables::Region, std::uint64_t) { return true; };
    attach_tables(tables);
  }
};

PrivateTables& shared_tables() {
  static PrivateTables tables;
  return tables;
}

// A stack as a reader of the trace puts it together; outermost first. Allocates nothing while it works: handlers use
// it.
class Decoder {
 public:
  void add(const Capture& capture) {
    ASSERT_LE(capture.kept, depth_);
    ASSERT_EQ(capture.kept + capture.fresh, capture.depth);
    for (std::uint32_t i = 0; i < capture.fresh; ++i) rows_[capture.kept + i] = capture.rows[capture.fresh - 1 - i];
    depth_ = capture.depth;
  }
  std::uint32_t innermost(std::uint32_t position) const { return rows_[depth_ - 1 - position]; }

 private:
  std::vector<std::uint32_t> rows_ = std::vector<std::uint32_t>(trace::kMaxFrames + 1);
  std::uint32_t depth_ = 0;
};

// The thread's stack captured twice: by an unwinder that reuses and by one that knows nothing.
struct Pair {
  Unwinder* reusing = map_zeroed<Unwinder>(1);
  Unwinder* fresh = map_zeroed<Unwinder>(1);
  Decoder decoder;
  std::uint64_t captures = 0;
  std::uint64_t kept = 0;
  std::uint32_t deepest = 0;
  std::mt19937 engine{1};

  unsigned random() { return static_cast<unsigned>(engine()); }

  Pair() { shared_tables(); }
  ~Pair() {
    munmap(reusing, sizeof(Unwinder));
    munmap(fresh, sizeof(Unwinder));
  }
};

thread_local Pair* t_pair;

// The work of a hook.
NOINLINE void check_here() {
  const StartState start{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), TARE_CALLERS_SP,
                         *static_cast<std::uint64_t*>(__builtin_frame_address(0))};
  Pair& pair = *t_pair;
  if (pair.random() % 31 == 0) pair.reusing->forget();
  if (pair.random() % 29 == 0) mappings_changed();
  const Capture reused = pair.reusing->capture(start);
  pair.decoder.add(reused);
  pair.fresh->reset();
  const Capture full = pair.fresh->capture(start);
  ASSERT_EQ(full.kept, 0u);
  ASSERT_EQ(reused.complete, full.complete);
  if (!full.truncated && !reused.truncated) {
    ASSERT_EQ(reused.depth, full.depth);
  } else {
    ASSERT_GE(reused.depth, 4096u);
  }
  for (std::uint32_t i = 0; i < std::min(full.depth, reused.depth); ++i) {
    ASSERT_EQ(pair.decoder.innermost(i), full.rows[i]) << "frame " << i << " of " << full.depth;
  }
  ++pair.captures;
  pair.kept += reused.kept;
  pair.deepest = std::max(pair.deepest, reused.depth);
}

// The compiler can't leave the memory out.
void keep(const void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

void wander(int depth);

NOINLINE void plain(int depth) {
  wander(depth);
  KEEP_FRAME;
}
NOINLINE void wide(int depth) {
  char memory[300];
  keep(memory);
  wander(depth);
  KEEP_FRAME;
}
NOINLINE void dynamic(int depth) {  // CFA from rbp
  keep(alloca(static_cast<std::size_t>(depth) * 8 + 16));
  wander(depth);
  KEEP_FRAME;
}
NOINLINE void realigned(int depth) {
  alignas(64) char memory[64];
  keep(memory);
  wander(depth);
  KEEP_FRAME;
}
// Realigned with arguments on the stack and dynamic memory: the CFA lies in memory.
NOINLINE void realigned_far(int depth, int b, int c, int d, int e, int f, int g, int h) {
  alignas(64) int memory[16] = {b, c, d, e, f, g, h};
  keep(memory);
  keep(alloca(static_cast<std::size_t>(depth) + 16));
  wander(depth);
  KEEP_FRAME;
}
// Many live values across the call: rbp is saved as a plain register.
NOINLINE int busy(int depth, const int* v) {
  int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];
  wander(depth);
  a += v[6], b += v[7];
  return a * b + c * d + e * f;
}
NOINLINE void leaf_a() {
  check_here();
  KEEP_FRAME;
}
NOINLINE void leaf_b() {
  check_here();
  KEEP_FRAME;
}

NOINLINE void wander(int depth) {
  static const int kValues[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const unsigned turns = depth <= 0 ? 1 : t_pair->random() % 3 + 1;
  for (unsigned i = 0; i < turns; ++i) {
    const unsigned choice = t_pair->random() % 9;
    if (depth <= 0 || choice == 0) {
      leaf_a();
    } else if (choice == 1) {
      leaf_b();
    } else if (choice == 2) {
      plain(depth - 1);
    } else if (choice == 3) {
      wide(depth - 1);
    } else if (choice == 4) {
      dynamic(depth - 1);
    } else if (choice == 5) {
      realigned(depth - 1);
    } else if (choice == 6) {
      realigned_far(depth - 1, 1, 2, 3, 4, 5, 6, 7);
    } else {
      KEEP_FRAME;
      busy(depth - 1, kValues);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Unwinder, ReuseEqualsFullWalk) {
  Pair pair;
  t_pair = &pair;
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) wander(i % 12);
  EXPECT_GT(pair.captures, 30000u);
  EXPECT_GT(pair.kept, pair.captures);  // or nothing was compared
}

// The same inner frames at the same place, but their caller's frame has moved: its old return address still lies
// untouched in memory that nobody has written since. Only the saved rbp tells.
NOINLINE void moved_leaf() {
  check_here();
  KEEP_FRAME;
}
NOINLINE void moved(std::size_t bytes) {
  keep(alloca(bytes));
  moved_leaf();
  KEEP_FRAME;
}
NOINLINE void moves_a(std::size_t bytes) {
  keep(alloca(bytes));
  moved(1024 - bytes);
  KEEP_FRAME;
}
NOINLINE void moves_b(std::size_t bytes) {
  keep(alloca(bytes));
  moved(1024 - bytes);
  __asm__ volatile("nop" ::: "memory");  // or the linker folds the two
}

TEST(Unwinder, StaleReturnAddressesAreNotTaken) {
  Pair pair;
  t_pair = &pair;
  for (std::size_t i = 0; i < 64 && !HasFatalFailure(); ++i) {
    moves_a(i % 8 * 64);
    moves_b(i % 5 * 64);
  }
  EXPECT_EQ(pair.captures, 128u);
}

TEST(Unwinder, FramesSurviveOtherMappingsGoing) {
  Pair pair;
  t_pair = &pair;
  for (int i = 0; i < 3; ++i) {
    check_here();
    mappings_changed();
  }
  EXPECT_GT(pair.kept, 10u);
}

TEST(Unwinder, EndsAtTheOutermostFrame) {
  Pair pair;
  t_pair = &pair;
  const StartState start{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), TARE_CALLERS_SP,
                         *static_cast<std::uint64_t*>(__builtin_frame_address(0))};
  const Capture capture = pair.reusing->capture(start);
  EXPECT_TRUE(capture.complete);
  EXPECT_FALSE(capture.truncated);
  ASSERT_GT(capture.fresh, 5u);
  const std::uint64_t innermost = shared_tables().tables.rows[capture.rows[0]].bits;
  EXPECT_EQ(innermost & 0xffffffffffff, start.return_address);
}

NOINLINE void recurse(int depth, int period) {
  if (depth % period == 0) check_here();
  if (depth > 0 && !testing::Test::HasFatalFailure()) recurse(depth - 1, period);
  KEEP_FRAME;
  if (depth % period == 0 && !testing::Test::HasFatalFailure()) check_here();
}

TEST(Unwinder, DeepRecursion) {
  Pair pair;
  t_pair = &pair;
  recurse(5000, 100);
  EXPECT_GT(pair.deepest, 5000u);
  recurse(30000, 500);
  EXPECT_LE(pair.deepest, trace::kMaxFrames);
}

sigjmp_buf g_jump;
void on_fault(int) {
  wander(2);
  siglongjmp(g_jump, 1);
}
void on_signal(int) { wander(3); }

TEST(Unwinder, SignalFrames) {
  Pair pair;
  t_pair = &pair;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = on_fault;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGILL, &action, &before);
  static int i;  // outlives the jumps
  for (i = 0; i < 200 && !HasFatalFailure(); ++i) {
    raise(SIGUSR1);
    wander(2);
    if (sigsetjmp(g_jump, 1) == 0) __asm__ volatile(TARE_INVALID_INSTRUCTION);
  }
  sigaction(SIGILL, &before, nullptr);
  EXPECT_GT(pair.kept, 0u);
}

// A call through a null pointer: what is outside the handler is the function that called, not a frame at address 0.
Capture g_captured;
void on_null_call(int) {
  check_here();
  if (!testing::Test::HasFatalFailure()) {
    const StartState start{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), TARE_CALLERS_SP,
                           *static_cast<std::uint64_t*>(__builtin_frame_address(0))};
    t_pair->fresh->reset();
    g_captured = t_pair->fresh->capture(start);
  }
  siglongjmp(g_jump, 1);
}
NOINLINE void call_null() {
  void (*volatile nothing)() = nullptr;
  nothing();  // NOLINT(clang-analyzer-core.CallAndMessage): that is the test
  KEEP_FRAME;
}

TEST(Unwinder, CallsThroughNull) {
  Pair pair;
  t_pair = &pair;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = on_null_call;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
  static int i;  // outlives the jumps
  for (i = 0; i < 3 && !HasFatalFailure(); ++i) {
    if (sigsetjmp(g_jump, 1) == 0) call_null();
  }
  sigaction(SIGSEGV, &before, nullptr);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(pair.captures, 3u);
  EXPECT_TRUE(g_captured.complete);
  // on_null_call's caller is the signal frame (and what a sanitizer calls handlers through), its caller the function
  // that called.
  ASSERT_GT(g_captured.fresh, 5u);
  const auto calls_null = [](std::uint32_t row) {
    const std::uint64_t address = shared_tables().tables.rows[row].bits & 0xffffffffffff;
    const auto start = reinterpret_cast<std::uint64_t>(&call_null);
    return address >= start && address < start + 200;
  };
  const auto* rows = g_captured.rows;
  EXPECT_TRUE(std::any_of(rows + 1, rows + 5, calls_null));
}

// A frame found by a register that callees preserve; `target` is called from a realigned stack.
extern "C" void tare_test_frame_by_register(void (*target)(int), int argument);
TARE_FRAME_BY_REGISTER("tare_test_frame_by_register");

TEST(Unwinder, FramesFoundByOtherRegisters) {
  Pair pair;
  t_pair = &pair;
  const std::uint64_t before = unwind_counters().full_walks;
  for (int i = 0; i < 100 && !HasFatalFailure(); ++i) {
    tare_test_frame_by_register([](int depth) { tare_test_frame_by_register(wander, depth); }, i % 5);
  }
  EXPECT_GT(unwind_counters().full_walks, before + 100);
  EXPECT_EQ(unwind_counters().failures, 0u);
}

TEST(Unwinder, Threads) {
  shared_tables();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      Pair pair;
      pair.engine.seed(i);
      t_pair = &pair;
      for (int k = 0; k < 500 && !testing::Test::HasFatalFailure(); ++k) wander(k % 10);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Garbage instead of a stack: an end, not a fault.
TEST(Unwinder, NonsenseStartStates) {
  Pair pair;
  t_pair = &pair;
  EXPECT_EQ(pair.reusing->capture({0, 0, 0}).depth, 0u);
  EXPECT_EQ(pair.reusing->capture({1, 8, 8}).depth, 0u);
  std::uint64_t words[64] = {};
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    for (std::uint64_t& word : words) {
      word = random() % 3 == 0 ? reinterpret_cast<std::uint64_t>(&words[random() % 64]) : random() >> (random() % 64);
      if (random() % 5 == 0) word = reinterpret_cast<std::uint64_t>(&wander) + random() % 300;
    }
    const StartState start{reinterpret_cast<std::uint64_t>(&wander) + random() % 300,
                           random() % 4 == 0 ? random() : reinterpret_cast<std::uint64_t>(&words[random() % 32]),
                           random() % 4 == 0 ? random() : reinterpret_cast<std::uint64_t>(&words[random() % 64])};
    const Capture capture = pair.reusing->capture(start);
    ASSERT_LE(capture.depth, trace::kMaxFrames);
  }
}

TEST(Modules, PathsAreAbsoluteAndBuildIdsPresent) {
  Pair pair;
  t_pair = &pair;
  wander(3);
  const ModuleInfo* own = module_of(reinterpret_cast<std::uint64_t>(&wander));
  const ModuleInfo* libc = module_of(reinterpret_cast<std::uint64_t>(&std::strerror));
  ASSERT_NE(own, nullptr);
  ASSERT_NE(libc, nullptr);
  const Tables& tables = shared_tables().tables;
  for (const ModuleInfo* module : {own, libc}) {
    const trace::ModuleEntry& entry = tables.modules[trace::index(module->id)];
    ASSERT_GT(entry.path.length, 0u);
    EXPECT_EQ(tables.strings[entry.path.offset], '/');
    EXPECT_LT(entry.start, entry.end);
    EXPECT_EQ(module_of(entry.start), module);
  }
  EXPECT_EQ(tables.modules[trace::index(libc->id)].build_id_bytes, 20);
}

}  // namespace
}  // namespace tare::recorder
