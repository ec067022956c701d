// Signal handlers that allocate inside hooks, on any stack, and that jump out of them.
#include <gtest/gtest.h>

#include "test_launcher.h"

namespace tare::test {
namespace {

Replayed expect_whole(const RunResult& result, std::uint64_t rounds) {
  EXPECT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.header().dropped_events.load(), 0u);
  EXPECT_GT(image.header().nested_events.load(), 0u);
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
  EXPECT_EQ(replayed.backward_stamps, 0u);
  EXPECT_GE(replayed.allocs, rounds);
  return replayed;
}

TEST(Signals, InsideHooks) {
  const RunResult result = run({program("signals"), "300000", "plain"});
  const Replayed replayed = expect_whole(result, 300'000);
  // Every handler's pair of events is there, and every round's.
  EXPECT_GE(replayed.allocs, 300'000 + result.number("handled"));
}

TEST(Signals, OnAnAlternateStack) { expect_whole(run({program("signals"), "300000", "alternate"}), 300'000); }

#if defined(__x86_64__)  // elsewhere a program can't step through itself
// The whole of each event is one instruction after another, and each may be the last before a handler.
TEST(Signals, AfterEachInstruction) {
  for (const char* const mode : {"TARE_CONTENT=0", "TARE_CONTENT=1"}) {
    SCOPED_TRACE(mode);
    RunOptions options;
    options.environment = {mode};
    const RunResult result = run({program("signals"), "0", "step"}, options);
    const std::uint64_t rounds = result.number("rounds");
    const Replayed replayed = expect_whole(result, rounds);
    EXPECT_GT(rounds, 100u);
    EXPECT_EQ(replayed.allocs, 3 + rounds + result.number("handled"));  // three beside them, one in printf
  }
}
#endif

TEST(Signals, ThatJumpOutOfHooks) {
  const RunResult result = run({program("signals"), "600000", "jump"});
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  EXPECT_GT(result.number("jumped"), 0u);
  const SpoolImage& image = result.only_image();
  // A jump out of malloc loses that block's event, and one out of free its block, but the thread is recorded on: what
  // it had counted when it jumped is counted anew.
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.unknown_frees, 0u);
  EXPECT_GE(replayed.allocs, 600'000 - result.number("jumped"));
  std::uint64_t last = 0;
  const std::vector<ThreadEvents> threads = image.threads();
  for (const RawEvent& event : threads[0].events) last += event.requested == 4321;
  EXPECT_EQ(last, 100u);
}

}  // namespace
}  // namespace tare::test
