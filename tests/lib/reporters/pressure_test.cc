// Giving memory back: by a call, by the kernel's word, and where the kernel has none.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "lib/support/child_of_threads.h"
#include "lib/support/in_child.h"
#include "tare/memory_pressure.h"

namespace tare {
namespace {

TEST(MemoryPressure, AsksEveryCallBackInTurn) {
  PressureRegistry registry;
  std::string asked;
  const PressureHandle a = registry.add("a", [&](PressureLevel level) {
    asked += level == PressureLevel::Critical ? "A" : "a";
    return std::size_t{100};
  });
  PressureHandle b = registry.add("b", [&](PressureLevel) {
    asked += "b";
    return std::size_t{20};
  });
  EXPECT_EQ(registry.relieve(PressureLevel::Moderate), 120u);
  b.release();
  EXPECT_EQ(registry.relieve(PressureLevel::Critical), 100u);
  EXPECT_EQ(asked, "abA");
}

TEST(MemoryPressure, ACallBackMayGoWhileItRuns) {
  PressureRegistry registry;
  PressureHandle once;
  once = registry.add("once", [&](PressureLevel) {
    once.release();
    return std::size_t{1};
  });
  EXPECT_EQ(registry.relieve(PressureLevel::Moderate), 1u);
  EXPECT_EQ(registry.relieve(PressureLevel::Moderate), 0u);
}

// A pass is under way in another thread whenever the child is made, and call-backs come and go.
TEST(MemoryPressure, AChildAsksItsOwnCallBacks) {
  PressureRegistry registry;
  const PressureHandle kept = registry.add("kept", [](PressureLevel) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return std::size_t{1};
  });
  const int wrong = testing::in_children_of_threads(
      50, 3,
      [&](int self) {
        if (self == 0) registry.relieve(PressureLevel::Moderate);
        PressureHandle passing = registry.add("passing", [](PressureLevel) { return std::size_t{0}; });
        passing.release();
      },
      [&] {
        PressureHandle own = registry.add("own", [](PressureLevel) { return std::size_t{10}; });
        if (registry.relieve(PressureLevel::Moderate) != 11) return 1;
        own.release();
        return registry.relieve(PressureLevel::Moderate) == 1 ? 0 : 2;
      });
  EXPECT_EQ(wrong, 0);
}

TEST(MemoryPressure, ACallBackMayFork) {
  PressureRegistry registry;
  int wrong = -1;
  const PressureHandle forking = registry.add("forking", [&](PressureLevel) {
    wrong = testing::in_child([&] {
      alarm(20);
      return registry.add("own", [](PressureLevel) { return std::size_t{0}; }) ? 0 : 1;
    });
    return std::size_t{1};
  });
  EXPECT_EQ(registry.relieve(PressureLevel::Moderate), 1u);
  EXPECT_EQ(wrong, 0);
}

TEST(MemoryPressure, TheHeapGoesBackToTheKernel) { EXPECT_TRUE(give_back_heap()); }

PressureError start_with(const PressureTrigger& trigger) {
  PressureRegistry registry;
  PressureMonitor monitor;
  return monitor.start(registry, trigger);
}

TEST(PressureMonitor, SaysThatTheKernelHasNoWord) {
  PressureTrigger trigger;
  trigger.path = "/proc/pressure/none";
  EXPECT_EQ(start_with(trigger), PressureError::NoPsi);
  trigger.path = "/proc/pressure";
  EXPECT_EQ(start_with(trigger), PressureError::NoPsi);
}

TEST(PressureMonitor, SaysWhatTheKernelRefuses) {
  PressureTrigger trigger;
  const PressureError usual = start_with(trigger);
  if (usual != PressureError::None) GTEST_SKIP() << describe(usual);
  trigger.window_us = 1;
  EXPECT_EQ(start_with(trigger), PressureError::BadTrigger);
  trigger.window_us = 2'000'000;
  trigger.critical_stall_us = 3'000'000;  // longer than the window
  EXPECT_EQ(start_with(trigger), PressureError::BadTrigger);
}

TEST(PressureMonitor, StartsOnceAndStopsAtOnce) {
  PressureRegistry registry;
  PressureMonitor monitor;
  const PressureError error = monitor.start(registry, {});
  if (error != PressureError::None) GTEST_SKIP() << describe(error);
  EXPECT_EQ(monitor.start(registry, {}), PressureError::Running);
  monitor.stop();
  monitor.stop();
  EXPECT_EQ(monitor.start(registry, {}), PressureError::None);
}

TEST(PressureMonitor, DescribesEveryError) {
  std::vector<std::string> all;
  for (int code = 0; code <= static_cast<int>(PressureError::Running); ++code) {
    all.emplace_back(describe(static_cast<PressureError>(code)));
    EXPECT_FALSE(all.back().empty());
    for (std::size_t i = 0; i + 1 < all.size(); ++i) EXPECT_NE(all[i], all.back());
  }
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(PressureMonitor, AChildStopsItsCopyOnly) {
  PressureRegistry registry;
  PressureMonitor monitor;
  const PressureError error = monitor.start(registry, {});
  if (error != PressureError::None) GTEST_SKIP() << describe(error);
  const std::ptrdiff_t threads = threads_of_process();
  const int wrong = testing::in_child([&] {
    alarm(20);
    monitor.stop();
    return 0;
  });
  EXPECT_EQ(wrong, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a thread that was told to end would have
  EXPECT_EQ(threads_of_process(), threads);
  EXPECT_EQ(monitor.start(registry, {}), PressureError::Running);
}

}  // namespace
}  // namespace tare
