// Other allocators, preloaded after the recorder: recognised, recorded under their own usable sizes, no event twice.
#include <gtest/gtest.h>

#include <filesystem>

#include "test_launcher.h"
#include "trace/model/api.h"

namespace tare::test {
namespace {

struct Other {
  const char* name;
  trace::AllocatorKind kind;
  std::vector<std::string> paths;
  bool throws;  // mimalloc, built as C, aborts where others throw bad_alloc
};

void PrintTo(const Other& other, std::ostream* out) { *out << other.name; }

const Other kOthers[] = {
    {"jemalloc", trace::AllocatorKind::Jemalloc, {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"}, true},
    {"mimalloc",
     trace::AllocatorKind::Mimalloc,
     {"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0"},
     false},
    {"tcmalloc",
     trace::AllocatorKind::Tcmalloc,
     {"/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4", "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"},
     true},
};

class OtherAllocator : public testing::TestWithParam<Other> {
 protected:
  RunOptions options() {
    RunOptions options;
    for (const std::string& path : GetParam().paths) {
      if (std::filesystem::exists(path)) options.environment = {"LD_PRELOAD=" + path};
    }
    return options;
  }
};

TEST_P(OtherAllocator, IsRecorded) {
  const RunOptions with = options();
  if (with.environment.empty()) GTEST_SKIP() << "not installed";
  std::vector<std::string> command = {program("operators")};
  if (!GetParam().throws) command.push_back("no failures");
  const RunResult result = run(command, with);
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  EXPECT_EQ(result.number("caught"), GetParam().throws ? 3u : 0u);
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.header().allocator, GetParam().kind);
  std::uint64_t operators = 0;
  const std::vector<ThreadEvents> threads = image.threads();
  for (const RawEvent& event : threads[0].events) {
    if (event.op != trace::Op::Alloc || event.requested < 2001 || event.requested > 2013) continue;
    ++operators;
    // jemalloc's aligned forms call aligned_alloc.
    if (event.api != static_cast<int>(trace::AllocApi::AlignedAlloc)) {
      EXPECT_GE(event.api, static_cast<int>(trace::AllocApi::OperatorNew)) << event.requested;
      EXPECT_EQ(image.module_path(event.top_row), program("operators")) << event.requested;
    }
    EXPECT_GE(event.usable, event.requested);
    EXPECT_LE(event.usable, event.requested * 5 / 4 + 64);
  }
  EXPECT_EQ(operators, 13u);
  // The exception that leaves an operator of the allocator's own is a failed request.
  std::uint64_t failed = 0;
  for (const RawEvent& event : threads[0].events) {
    if (event.op != trace::Op::FailedRequest) continue;
    ++failed;
    EXPECT_EQ(event.requested, static_cast<std::size_t>(-1) / 4);
    EXPECT_EQ(event.api, static_cast<int>(trace::AllocApi::OperatorNew));
    EXPECT_EQ(image.module_path(event.top_row), program("operators"));
  }
  EXPECT_EQ(failed, GetParam().throws ? 3u : 0u);
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
}

TEST_P(OtherAllocator, UnderThreads) {
  const RunOptions with = options();
  if (with.environment.empty()) GTEST_SKIP() << "not installed";
  const std::vector<std::vector<std::string>> commands = {
      {program("tight_realloc"), "100000", "3"}, {program("handoff"), "100000"}, {program("threads"), "200", "8"}};
  for (const std::vector<std::string>& command : commands) {
    const RunResult result = run(command, with);
    ASSERT_TRUE(result.exited(0)) << command[0] << result.wait_status << result.errors;
    const Replayed replayed = result.only_image().replay();
    EXPECT_EQ(replayed.impossible, 0u) << command[0];
    EXPECT_EQ(replayed.unknown_frees, 0u) << command[0];
    EXPECT_EQ(result.only_image().header().dropped_events.load(), 0u);
  }
}

TEST_P(OtherAllocator, OverFork) {
  const RunOptions with = options();
  if (with.environment.empty()) GTEST_SKIP() << "not installed";
  const RunResult result = run({program("forks"), "fork"}, with);
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  EXPECT_EQ(result.images.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Allocators, OtherAllocator, testing::ValuesIn(kOthers),
                         [](const auto& other) { return other.param.name; });

}  // namespace
}  // namespace tare::test
