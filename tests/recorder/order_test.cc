// Threads under contention replay without one impossible event. (Ten runs of ten with more events: the bench's part.)
#include <gtest/gtest.h>

#include "test_launcher.h"

namespace tare::test {
namespace {

void expect_possible(const RunResult& result) {
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.header().dropped_events.load(), 0u);
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
  EXPECT_EQ(replayed.backward_stamps, 0u);
  EXPECT_GT(replayed.allocs, 100'000u);
}

TEST(Order, ReallocsThroughOneArena) {
  RunOptions options;
  options.environment = {"GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"};
  for (int i = 0; i < 3; ++i) expect_possible(run({program("tight_realloc"), "300000", "2"}, options));
  expect_possible(run({program("tight_realloc"), "100000", "5"}, options));
}

TEST(Order, BlocksHandedToOtherThreads) {
  RunOptions options;
  options.environment = {"GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"};
  for (int i = 0; i < 3; ++i) expect_possible(run({program("handoff"), "300000"}, options));
  expect_possible(run({program("handoff"), "300000"}));
}

TEST(Order, SingleThreadsAreStampedSparsely) {
  const RunResult result = run({program("burst"), "100000"});
  std::uint64_t stamped = 0, all = 0;
  for (const ThreadEvents& thread : result.only_image().threads()) {
    for (const RawEvent& event : thread.events) {
      ++all;
      stamped += event.stamped;
    }
  }
  EXPECT_GE(all, 200'000u);
  EXPECT_LT(stamped, all / 20);
  EXPECT_GT(stamped, 1u);
}

}  // namespace
}  // namespace tare::test
