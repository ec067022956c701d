// Threads coming and going leave whole streams, and their chunks don't stay behind.
#include <gtest/gtest.h>

#include <algorithm>

#include "test_launcher.h"

namespace tare::test {
namespace {

TEST(Threads, ComeAndGo) {
  const RunResult result = run({program("threads"), "2000", "4"});
  ASSERT_TRUE(result.exited(0)) << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.header().dropped_events.load(), 0u);
  const std::vector<ThreadEvents> threads = image.threads();
  EXPECT_LE(threads.size(), 100u);  // numbers of threads that are over are used again
  std::uint64_t started = 0, ended = 0;
  for (const ThreadEvents& thread : threads) {
    for (const RawEvent& event : thread.events) {
      started += event.op == trace::Op::ThreadStart;
      ended += event.op == trace::Op::ThreadEnd;
    }
    if (thread.thread != 0) {
      EXPECT_GE(thread.events.size(), 40u + 2 + 8);
      const std::size_t ends =
          static_cast<std::size_t>(std::count_if(thread.events.begin(), thread.events.end(), [](const RawEvent& event) {
            return event.op == trace::Op::ThreadEnd;
          }));
      EXPECT_GE(ends, 1u);
    }
  }
  EXPECT_EQ(started, 2001u);
  EXPECT_EQ(ended, 2000u);
  std::uint64_t open = 0;
  for (const ChunkCopy& chunk : image.chunks) open += chunk.open;
  EXPECT_LE(open, 1u);
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
  EXPECT_EQ(replayed.backward_stamps, 0u);
}

TEST(Threads, MoreThanThereAreChunks) {
  RunOptions options;
  options.environment = {"TARE_SPOOL_BYTES=262144"};  // four chunks
  const RunResult result = run({program("threads"), "200", "50"}, options);
  ASSERT_TRUE(result.exited(0)) << result.errors;
  EXPECT_EQ(result.only_image().header().dropped_events.load(), 0u);
  std::uint64_t started = 0;
  for (const ThreadEvents& thread : result.only_image().threads()) {
    for (const RawEvent& event : thread.events) started += event.op == trace::Op::ThreadStart;
  }
  EXPECT_EQ(started, 201u);
}

// The first event of these comes too late, or their end too early, for them to say that they end.
class ThreadsOfFewWords : public testing::TestWithParam<const char*> {};

TEST_P(ThreadsOfFewWords, GiveBackWhatTheyHad) {
  const RunResult result = run({program("threads"), "400", "1", GetParam()});
  ASSERT_TRUE(result.exited(0)) << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_LE(image.header().chunk_count.load(), 200u);  // 105 were seen on a busy machine
  EXPECT_EQ(image.header().dropped_events.load(), 0u);
  EXPECT_LE(image.header().thread_count.load(), 200u);
  std::uint64_t ended = 0;
  std::uint64_t freed = 0;
  for (const ThreadEvents& thread : image.threads()) {
    for (const RawEvent& event : thread.events) {
      ended += event.op == trace::Op::ThreadEnd;
      freed += event.op == trace::Op::Free;
    }
  }
  // All but the last one of each number (one is the main thread's), and 30 more than wanted: see the program. Another
  // number is given where a thread
  // isn't gone yet when its successor begins, which a busy machine does now and then.
  EXPECT_GE(ended + image.header().thread_count.load() - 1, 430u);
  EXPECT_GE(freed, 430u);
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.backward_stamps, 0u);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadsOfFewWords, testing::Values("destructor", "exit"));

TEST(Threads, ThatWaitHoldAPageEach) {
  RunOptions options;
  options.launcher = Launcher::None;
  const RunResult result = run({program("threads"), "600", "600", "wait"}, options);
  ASSERT_TRUE(result.exited(0)) << result.errors;
  EXPECT_EQ(result.only_image().threads().size(), 601u);
  EXPECT_GT(result.number("spool_kib"), 600u * 4);
  EXPECT_LT(result.number("spool_kib"), 600u * 4 + 1500);
}

}  // namespace
}  // namespace tare::test
