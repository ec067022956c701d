// Requests that no allocator could serve are recorded, with entry point, size and stack; nothing changes for the
// program.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "test_launcher.h"
#include "trace/model/api.h"

namespace tare::test {
namespace {

using trace::AllocApi;
using trace::Op;

constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
constexpr std::uint64_t kMoreThan64Bits = ~std::uint64_t{0};

struct Failure {
  std::uint64_t requested;
  AllocApi api;
  int align_log2 = 0;
};

// Without an argument, the program makes these requests in this order.
std::vector<Failure> expected_failures() {
  return {{kHuge + 1, AllocApi::Malloc},
          {kHuge + 2, AllocApi::Calloc},
          {kHuge + 3, AllocApi::Realloc},
          {kHuge + 4, AllocApi::Realloc},
          {kHuge + 5, AllocApi::Reallocarray},
          {kHuge + 6, AllocApi::Memalign, 6},
          {kHuge + 64 * 7, AllocApi::AlignedAlloc, 6},
          {kHuge + 8, AllocApi::PosixMemalign, 8},
          {kHuge + 9, AllocApi::Valloc, 12},
          {kHuge + 10, AllocApi::Pvalloc, 12},
          {kHuge + 11, AllocApi::Malloc},
          {kHuge + 12, AllocApi::Malloc},
          {kMoreThan64Bits, AllocApi::Calloc},
          {kMoreThan64Bits, AllocApi::Reallocarray},
          {kHuge + 20, AllocApi::Malloc}};
}

std::vector<RawEvent> failures_of(const SpoolImage& image) {
  std::vector<RawEvent> found;
  for (const ThreadEvents& thread : image.threads()) {
    std::copy_if(thread.events.begin(), thread.events.end(), std::back_inserter(found),
                 [](const RawEvent& event) { return event.op == Op::FailedRequest; });
  }
  return found;
}

void expect_failures(const SpoolImage& image, const std::vector<Failure>& expected) {
  const std::vector<RawEvent> found = failures_of(image);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].requested, expected[i].requested) << i;
    EXPECT_EQ(found[i].api, static_cast<int>(expected[i].api)) << expected[i].requested;
    EXPECT_EQ(found[i].align_log2, expected[i].align_log2) << expected[i].requested;
    EXPECT_TRUE(found[i].stamped);
    EXPECT_GE(found[i].depth, 3u);
    const bool is_operators = expected[i].requested == kHuge + 11 || expected[i].requested == kHuge + 12;
    EXPECT_EQ(image.module_path(found[i].top_row) == program("failing"), !is_operators) << expected[i].requested;
  }
}

const SpoolImage& unforked_image(const RunResult& result) {
  return *std::find_if(result.images.begin(), result.images.end(), [](const SpoolImage& image) {
    return (image.header().flags.load() & trace::kSpoolForked) == 0;
  });
}

class FailedRequests : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(FailedRequests, AreRecordedAndLeaveErrno) {
  RunOptions options;
  options.environment = GetParam();
  const RunResult result = run({program("failing")}, options);
  RunOptions plain;
  plain.recorded = false;
  const RunResult without = run({program("failing")}, plain);
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  EXPECT_EQ(result.output, without.output);
  EXPECT_EQ(result.number("failures"), 14u);
  EXPECT_EQ(result.number("errno"), 14u);
  EXPECT_EQ(result.number("caught"), 1u);
  EXPECT_EQ(result.number("kept"), 0u);
  ASSERT_EQ(result.images.size(), 2u);
  const SpoolImage& parent = unforked_image(result);
  expect_failures(parent, expected_failures());
  const SpoolImage& child = &parent == &result.images[0] ? result.images[1] : result.images[0];
  expect_failures(child, {{kHuge + 30, AllocApi::Malloc}});
  const Replayed replayed = parent.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
  EXPECT_EQ(replayed.backward_stamps, 0u);
}

INSTANTIATE_TEST_SUITE_P(InEveryKindOfRecording, FailedRequests,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"TARE_CONTENT=1"},
                                         std::vector<std::string>{"TARE_FREE_STACKS=1"},
                                         std::vector<std::string>{"TARE_SAMPLE_BYTES=1048576"}));

TEST(FailedRequestsAtTheEnd, AreInTheSpoolOfAnAbortedProgram) {
  const RunResult result = run({program("failing"), "abort"});
  ASSERT_TRUE(WIFSIGNALED(result.wait_status));
  EXPECT_EQ(WTERMSIG(result.wait_status), SIGABRT);
  std::vector<Failure> expected = expected_failures();
  expected.push_back({kHuge + 40, AllocApi::Malloc});
  const std::vector<RawEvent> found = failures_of(unforked_image(result));
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(found.back().requested, expected.back().requested);
}

}  // namespace
}  // namespace tare::test
