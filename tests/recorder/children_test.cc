// Forked, vforked, cloned and exec'd children: each image has its own spool, which says where it comes from.
#include <gtest/gtest.h>

#include <algorithm>

#include "test_launcher.h"

namespace tare::test {
namespace {

std::uint64_t requested(const SpoolImage& image, std::uint64_t size) {
  std::uint64_t count = 0;
  for (const ThreadEvents& thread : image.threads()) {
    for (const RawEvent& event : thread.events) count += event.op == trace::Op::Alloc && event.requested == size;
  }
  return count;
}

const SpoolImage* parent_of(const RunResult& result) {
  for (const SpoolImage& image : result.images) {
    if ((image.header().flags.load() & trace::kSpoolForked) == 0) return &image;
  }
  return nullptr;
}

void expect_child(const RunResult& result) {
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  ASSERT_EQ(result.images.size(), 2u);
  const SpoolImage* parent = parent_of(result);
  ASSERT_NE(parent, nullptr);
  const SpoolImage& child = &result.images[0] == parent ? result.images[1] : result.images[0];
  const trace::SpoolHeader& header = child.header();
  EXPECT_NE(header.flags.load() & trace::kSpoolForked, 0u);
  EXPECT_EQ(header.fork_parent_pid, parent->header().pid);
  EXPECT_NE(header.pid, parent->header().pid);
  EXPECT_EQ(header.fork_parent_image, 0u);
  EXPECT_EQ(header.fork_thread, 0u);
  EXPECT_EQ(requested(child, 777), 1000u);
  EXPECT_EQ(requested(*parent, 777), 0u);
  EXPECT_EQ(requested(*parent, 999), 1u);
  EXPECT_EQ(child.text(header.exe), parent->text(parent->header().exe));
  // The parent's events up to the fork hold the block that the child frees.
  const std::vector<ThreadEvents> before = parent->threads();
  ASSERT_LE(header.fork_thread_events, before[0].events.size());
  std::uint64_t inherited = 0;
  for (std::size_t i = 0; i < header.fork_thread_events; ++i) {
    if (before[0].events[i].requested == 555) inherited = before[0].events[i].address;
  }
  ASSERT_NE(inherited, 0u);
  EXPECT_EQ(child.replay().unknown_frees, 1u);
  const std::vector<ThreadEvents> after = child.threads();
  for (const RawEvent& event : after[0].events) {
    if (event.op == trace::Op::Free) {
      EXPECT_EQ(event.address, inherited);
      break;
    }
  }
  EXPECT_EQ(parent->replay().unknown_frees, 0u);
}

TEST(Children, Forked) { expect_child(run({program("forks"), "fork"})); }
TEST(Children, ClonedBehindTheLibrarysBack) { expect_child(run({program("forks"), "clone"})); }
TEST(Children, ForkedWithoutLauncher) {
  RunOptions options;
  options.launcher = Launcher::None;
  expect_child(run({program("forks"), "fork"}, options));
}

// A launcher that ends deletes its control file, then all spools: a later one would stay.
TEST(Children, ForkedAfterTheLaunchersEndLeaveNoSpool) {
  const RunResult result = run({program("forks"), "fork-after-end"});
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_EQ(result.errors, "");
  ASSERT_EQ(result.images.size(), 1u);
  EXPECT_EQ(result.images[0].header().flags.load() & trace::kSpoolForked, 0u);
}

TEST(Children, TheParentNotesTheFork) {
  const RunResult result = run({program("forks"), "fork"});
  const SpoolImage* parent = parent_of(result);
  const SpoolImage& child = &result.images[0] == parent ? result.images[1] : result.images[0];
  std::uint64_t noted = 0;
  const std::vector<ThreadEvents> threads = parent->threads();
  for (const RawEvent& event : threads[0].events) {
    if (event.op == trace::Op::Fork) noted = event.value;
  }
  EXPECT_EQ(noted, child.header().pid);
}

TEST(Children, GrandchildrenToo) {
  const RunResult result = run({program("forks"), "fork-twice"});
  ASSERT_TRUE(result.exited(0));
  ASSERT_EQ(result.images.size(), 3u);
  std::vector<std::uint64_t> counts;
  for (const SpoolImage& image : result.images) counts.push_back(requested(image, 777));
  std::sort(counts.begin(), counts.end());
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 250, 500}));
}

TEST(Children, OfVforkWriteIntoTheirParents) {
  const RunResult result = run({program("forks"), "vfork"});
  ASSERT_TRUE(result.exited(0));
  EXPECT_EQ(requested(result.only_image(), 321), 1u);
  EXPECT_EQ(requested(result.only_image(), 999), 1u);
}

TEST(Children, ThatExecHaveAnImageMore) {
  const RunResult result = run({program("forks"), "fork-exec"});
  ASSERT_TRUE(result.exited(0));
  ASSERT_EQ(result.images.size(), 3u);
  int second_images = 0;
  for (const SpoolImage& image : result.images) {
    if (image.header().image_index == 1) {
      ++second_images;
      EXPECT_EQ(image.header().flags.load() & trace::kSpoolForked, 0u);
      EXPECT_EQ(requested(image, 321), 1u);
    }
  }
  EXPECT_EQ(second_images, 1);
}

TEST(Children, OfAThreadWhileAnotherAllocates) {
  const RunResult result = run({program("forks"), "fork-in-thread"});
  ASSERT_TRUE(result.exited(0)) << result.errors;
  ASSERT_EQ(result.images.size(), 21u);
  for (const SpoolImage& image : result.images) {
    const Replayed replayed = image.replay();
    EXPECT_EQ(replayed.impossible, 0u);
    if (&image != parent_of(result)) {
      EXPECT_EQ(requested(image, 777), 100u);
    }
  }
}

TEST(Children, OfAShellAreFollowedThroughWrappers) {
  const RunResult result = run({"/bin/sh", "-c", "env true; timeout 10 " + program("forks") + " vfork; true"});
  ASSERT_TRUE(result.exited(0)) << result.errors;
  bool found = false;
  for (const SpoolImage& image : result.images) found |= image.text(image.header().exe) == program("forks");
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tare::test
