// A spool by itself opens like a trace, event by event what was put in, in global order.
#include "trace/open/open_trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

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

// A program may write a title over its command line; most have the one with which they were started, or its beginning.
TEST(OpenTrace, TitleThatReplacedTheCommandLine) {
  const auto title_of = [](std::string_view left) {
    TempDir dir;
    {
      SpoolBuilder spool(dir / "a.spool");
      std::memcpy(spool.header().title, left.data(), left.size());
    }
    auto opened = trace::open_trace(dir / "a.spool");
    return opened ? opened->info().title : opened.error().message;
  };
  EXPECT_EQ(title_of("server: worker  "), "server: worker");
  EXPECT_EQ(title_of("example"), "");
  EXPECT_EQ(title_of(""), "");
  const std::string unterminated(trace::kTitleBytes, 'x');
  EXPECT_EQ(title_of(unterminated), std::string(trace::kTitleBytes - 1, 'x'));
}

}  // namespace
}  // namespace tare::test
