#include "core/snapshot/frozen_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tare::core {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kRegistersWithPointers = 15;  // all but rsp
#else
constexpr std::size_t kRegistersWithPointers = 31;  // x0 to x30
#endif

struct Shared {
  std::atomic<std::uint64_t> counters[4];
  std::atomic<std::uint32_t> running;
  std::atomic<std::uint32_t> signals;
};

Shared* make_shared_page() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (page) Shared{};
}

Shared* g_shared;

// A child whose threads count until it is killed.
pid_t start_counting(int threads) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::signal(SIGUSR1, [](int) { ++g_shared->signals; });
  std::vector<std::thread> others;
  const auto count = [](int which) {
    ++g_shared->running;
    while (true) ++g_shared->counters[which];
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(count, i);
  count(0);
  ::_exit(0);
}

class FrozenProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { g_shared = make_shared_page(); }
  void start(int threads) {
    child = start_counting(threads);
    while (g_shared->running < static_cast<std::uint32_t>(threads)) ::usleep(100);
  }
  void TearDown() override {
    if (child > 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::munmap(g_shared, 4096);
  }
  std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (const auto& counter : g_shared->counters) all += counter;
    return all;
  }
  pid_t child = 0;
};

TEST_F(FrozenProcessTest, AllThreadsStandStillAndGoOn) {
  start(3);
  std::uint64_t before = 0;
  {
    const Result<FrozenProcess> process = FrozenProcess::freeze(child);
    ASSERT_TRUE(process) << process.error().message;
    EXPECT_EQ(process->thread_count(), 3u);
    before = sum();
    ::usleep(20'000);
    EXPECT_EQ(sum(), before);
    const std::vector<ThreadState> threads = process->threads();
    ASSERT_EQ(threads.size(), 3u);
    for (const ThreadState& thread : threads) {
      EXPECT_NE(thread.stack_pointer, 0u);
      EXPECT_NE(thread.thread_pointer, 0u);
      EXPECT_EQ(thread.registers.size(), kRegistersWithPointers);
    }
  }
  const std::uint64_t first = g_shared->counters[0];
  while (g_shared->counters[0] == first) ::usleep(100);  // hangs where it doesn't go on
}

TEST_F(FrozenProcessTest, OneThreadRunsOnAlone) {
  start(2);
  Result<FrozenProcess> process = FrozenProcess::freeze(child);
  ASSERT_TRUE(process);
  const std::uint64_t first = g_shared->counters[0];
  const std::uint64_t second = g_shared->counters[1];
  for (int i = 0; i < 100 && g_shared->counters[0] == first; ++i)
    EXPECT_TRUE(process->let_run(child, [] { return false; }, 1'000'000));
  EXPECT_NE(g_shared->counters[0], first);
  EXPECT_EQ(g_shared->counters[1], second);
}

TEST_F(FrozenProcessTest, SignalsThatCameMeanwhileAreDelivered) {
  start(1);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    {
      ::kill(child, SIGUSR1);
      const Result<FrozenProcess> process = FrozenProcess::freeze(child);
      ASSERT_TRUE(process);
    }
    for (int i = 0; i < 10'000 && g_shared->signals < round; ++i) ::usleep(100);
    ASSERT_EQ(g_shared->signals, round);
  }
}

// The signal stops it first, and the stop that was asked for comes when it is let run: no turn may be lost to that.
TEST_F(FrozenProcessTest, AThreadThatASignalHadStoppedRunsOn) {
  start(1);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    ::kill(child, SIGUSR1);
    Result<FrozenProcess> process = FrozenProcess::freeze(child);
    ASSERT_TRUE(process);
    const std::uint64_t before = g_shared->counters[0];
    const auto moved = [&] { return g_shared->counters[0] != before; };
    EXPECT_TRUE(process->let_run(child, moved, 10'000'000'000));
    ASSERT_TRUE(moved());
  }
}

// Nothing stops a thread that waits for its vfork child. It comes back stopped, and nobody holds it any more.
TEST_F(FrozenProcessTest, AThreadThatStopsLateIsReleasedLater) {
  child = ::fork();
  if (child == 0) {
    if (::vfork() == 0) {  // NOLINT(bugprone-unsafe-functions): its parent stops as no other does
      g_shared->running = 1;
      while (g_shared->signals == 0) {
      }
      ::_exit(0);
    }
    while (true) ++g_shared->counters[0];
  }
  while (g_shared->running == 0) ::usleep(100);
  {
    const Result<FrozenProcess> process = FrozenProcess::freeze(child);
    ASSERT_TRUE(process) << process.error().message;
  }
  EXPECT_FALSE(FrozenProcess::release_late_stops());
  g_shared->signals = 1;
  while (!FrozenProcess::release_late_stops()) ::usleep(1000);
  while (g_shared->counters[0] == 0) ::usleep(100);  // hangs where it doesn't go on
}

TEST_F(FrozenProcessTest, EndsOfTheProcessStayForWhoWaits) {
  start(1);
  ::kill(child, SIGKILL);
  ::usleep(50'000);
  const Result<FrozenProcess> process = FrozenProcess::freeze(child);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->thread_count(), 0u);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  child = 0;
}

TEST_F(FrozenProcessTest, AProcessKilledWhileItIsHeldEnds) {
  start(3);
  {
    const Result<FrozenProcess> process = FrozenProcess::freeze(child);
    ASSERT_TRUE(process) << process.error().message;
    EXPECT_TRUE(process->is_held());
    ::kill(child, SIGKILL);
    for (int i = 0; i < 10'000 && process->is_held(); ++i) ::usleep(100);
    EXPECT_FALSE(process->is_held());
  }
  // Its threads are waited for by their tracer: otherwise the process has no end.
  pid_t ended = 0;
  int status = 0;
  for (int i = 0; i < 10'000 && ended == 0; ++i) {
    FrozenProcess::release_late_stops();
    ended = ::waitpid(child, &status, WNOHANG);
    ::usleep(100);
  }
  EXPECT_EQ(ended, child);
  EXPECT_TRUE(WIFSIGNALED(status));
  child = 0;
}

TEST_F(FrozenProcessTest, AProcessThatIsntThereHasNoThreads) {
  const Result<FrozenProcess> process = FrozenProcess::freeze(0x3ffffff);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->thread_count(), 0u);
}

TEST_F(FrozenProcessTest, ALeaderThatLeftItsThreadsDoesntKeepThemFromStopping) {
  child = ::fork();
  if (child == 0) {
    std::thread other([] {
      while (g_shared->counters[0] < ~std::uint64_t{0}) {
        ++g_shared->running;
        ::usleep(100);
      }
    });
    ::syscall(SYS_exit, 0);  // this thread alone
  }
  while (g_shared->running == 0) ::usleep(100);
  ::usleep(50'000);
  const Result<FrozenProcess> process = FrozenProcess::freeze(child);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->thread_count(), 1u);
  const std::uint32_t before = g_shared->running;
  ::usleep(10'000);
  EXPECT_EQ(g_shared->running, before);
}

TEST_F(FrozenProcessTest, AnotherTracersProcessIsAnError) {
  child = ::fork();
  if (child == 0) {
    const pid_t traced = ::fork();
    if (traced == 0) {
      while (true) ::pause();
    }
    ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr);
    g_shared->counters[0] = static_cast<std::uint64_t>(traced);
    while (true) ::pause();
  }
  while (g_shared->counters[0] == 0) ::usleep(100);
  const auto traced = static_cast<pid_t>(g_shared->counters[0]);
  const Result<FrozenProcess> process = FrozenProcess::freeze(traced);
  ::kill(traced, SIGKILL);
  ASSERT_FALSE(process);
  EXPECT_NE(process.error().message.find("cannot take a snapshot of process"), std::string::npos);
}

}  // namespace
}  // namespace tare::core
