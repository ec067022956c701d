// A spool by itself opens like a trace, event by event what was put in, in global order.
#include "trace/open/open_trace.h"

#include <gtest/gtest.h>

#include "support/spool_script.h"
#include "support/temp_dir.h"
#include "trace/file/expected_events.h"

namespace tare::test {
namespace {

void round_trip(const SpoolScript& script) {
  TempDir dir;
  std::vector<ExpectedCall> calls;
  {
    SpoolBuilder spool(dir / "a.spool");
    calls = play(script, spool);
  }
  auto opened = trace::open_trace(dir / "a.spool");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->complete());
  EXPECT_EQ(opened->info().pid, 4711u);
  EXPECT_EQ(opened->info().command_line, (std::vector<std::string>{"example", "--flag"}));
  for (int pass = 0; pass < 2; ++pass) {
    CollectingSink sink;
    const auto status = opened->replay_into(sink);
    ASSERT_TRUE(status) << status.error().message;
    expect_same(calls, sink.all, opened->dictionary());
  }
}

TEST(OpenTrace, SpoolOfOneThread) { round_trip({.threads = 1, .calls = 200'000}); }
TEST(OpenTrace, SpoolOfManyThreads) { round_trip({.threads = 7, .calls = 200'000, .seed = 2}); }
TEST(OpenTrace, SpoolOfDeepStacks) {
  round_trip({.threads = 2, .calls = 5'000, .stacks = 300, .depth = 3000, .seed = 3});
}

}  // namespace
}  // namespace tare::test
