// Giving memory back: by a call, by the kernel's word, and where the kernel has none.
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace tare
