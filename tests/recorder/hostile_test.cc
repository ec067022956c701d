// Programs that close every descriptor, change root, limit themselves or unload code: they behave as without the
// recorder.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>

#include "test_launcher.h"

namespace tare::test {
namespace {

std::uint64_t allocs(const SpoolImage& image) {
  std::uint64_t count = 0;
  for (const ThreadEvents& thread : image.threads()) {
    for (const RawEvent& event : thread.events) count += event.op == trace::Op::Alloc;
  }
  return count;
}

TEST(Hostile, ClosingAllDescriptors) {
  for (const Launcher launcher : {Launcher::Draining, Launcher::None}) {
    RunOptions options;
    options.launcher = launcher;
    const RunResult result = run({program("hostile"), "close-fds", "2000000"}, options);
    ASSERT_TRUE(result.exited(0)) << result.wait_status;
    EXPECT_EQ(result.only_image().header().dropped_events.load(), 0u);
    EXPECT_GE(allocs(result.only_image()), 2'000'000u);
  }
}

TEST(Hostile, ChangingRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot takes root";
  RunOptions options;
  options.launcher = Launcher::None;
  const RunResult result = run({program("hostile"), "chroot", "2000000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  EXPECT_GE(allocs(result.only_image()), 2'000'000u);
}

TEST(Hostile, NoDescriptorsLeft) {
  RunOptions options;
  options.launcher = Launcher::None;
  const RunResult result = run({program("hostile"), "no-files", "2000000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_GE(allocs(result.only_image()), 2'000'000u);
}

TEST(Hostile, SeccompThatDeniesFilesAndMappings) {
  RunOptions options;
  options.launcher = Launcher::None;
  const RunResult result = run({program("hostile"), "seccomp", "100000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(allocs(image) + image.header().dropped_events.load() / 2, 100'002u);
}

TEST(Hostile, SeccompThatKills) {
  for (const char* how : {"kill-prctl", "kill-syscall"}) {
    const RunResult result = run({program("hostile"), how, "3000000"});
    ASSERT_TRUE(result.exited(0)) << how << " " << result.wait_status;
    const SpoolImage& image = result.only_image();
    EXPECT_EQ(image.header().dropped_events.load(), 0u);
    EXPECT_GE(allocs(image), 3'000'102u);
    EXPECT_EQ(image.header().unwind_failures.load(), 0u);
    EXPECT_NE(image.header().flags.load() & trace::kSpoolUnheard, 0u);
    EXPECT_NE(image.header().flags.load() & trace::kSpoolEnded, 0u);
  }
}

// There even the processor's clock can't be read.
TEST(Hostile, StrictSeccompEndsTheRecording) {
  const RunResult result = run({program("hostile"), "strict", "100000"});
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_LT(allocs(result.only_image()), 100u);
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_EQ(result.notices[0], "hostile\nin seccomp's strict mode from some point on");
}

// A kernel before 5.14, which has no MADV_POPULATE_WRITE; file systems without fallocate and rename's flags; a kernel
// before 4.14, which can't wipe a page on fork.
TEST(Hostile, OldKernels) {
  for (const char* what : {"no-populate", "no-populate,no-fallocate,no-rename-flags"}) {
    for (const Launcher launcher : {Launcher::Draining, Launcher::None}) {
      RunOptions options;
      options.launcher = launcher;
      const RunResult result = run({program("filtered"), what, program("burst"), "3000000"}, options);
      ASSERT_TRUE(result.exited(0)) << what << " " << result.wait_status << result.errors;
      EXPECT_EQ(result.errors, "");
      ASSERT_EQ(result.images.size(), 2u);
      std::uint64_t most = 0;
      for (const SpoolImage& image : result.images) {
        most = std::max(most, allocs(image));
        EXPECT_EQ(image.header().dropped_events.load(), 0u);
      }
      EXPECT_GE(most, 3'000'000u);
    }
  }
  const RunResult ancient = run({program("filtered"), "no-wipe", program("burst"), "1000"});
  ASSERT_TRUE(ancient.exited(0)) << ancient.wait_status;
  ASSERT_EQ(ancient.notices.size(), 1u);
  EXPECT_NE(ancient.notices[0].find("older than 4.14, or the program is in a sandbox"), std::string::npos)
      << ancient.notices[0];
  RunOptions alone;
  alone.launcher = Launcher::None;
  const RunResult without = run({program("filtered"), "no-wipe", program("burst"), "1000"}, alone);
  ASSERT_TRUE(without.exited(0)) << without.wait_status;
  EXPECT_EQ(without.errors.find("tare: no spool can be made: the kernel refuses a call that it needs"), 0u)
      << without.errors;
}

TEST(Hostile, LimitedAddressSpace) {
  for (const char* kibibytes : {"200000", "40000", "14000", "6000"}) {
    const std::string command = std::string("ulimit -v ") + kibibytes + "; exec " + program("burst") + " 1000";
    RunOptions plain;
    plain.recorded = false;
    if (!run({"/bin/sh", "-c", command}, plain).exited(0)) continue;  // too little even without us
    const RunResult result = run({"/bin/sh", "-c", command});
    EXPECT_TRUE(result.exited(0)) << kibibytes << " " << result.wait_status << result.errors;
    if (std::string(kibibytes) == "200000") {
      EXPECT_EQ(result.errors, "");
    }
  }
}

TEST(Hostile, LimitedFileSize) {
  const RunResult small = run({"/bin/sh", "-c", "ulimit -f 1000; exec " + program("burst") + " 1000"});
  EXPECT_TRUE(small.exited(0)) << small.wait_status;
  EXPECT_EQ(small.errors, "");
  ASSERT_EQ(small.notices.size(), 1u);
  EXPECT_NE(small.notices[0].find("ulimit -f"), std::string::npos) << small.notices[0];
  const RunResult enough = run({"/bin/sh", "-c", "ulimit -f 300000; exec " + program("burst") + " 1000"});
  EXPECT_TRUE(enough.exited(0)) << enough.wait_status;
  EXPECT_EQ(enough.errors, "");
}

TEST(Hostile, PluginsWithTheirOwnStandardLibrary) {
  const RunResult result = run({program("plugin_host"), program("plugin.so")});
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.output << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_GE(allocs(image), 1500u);
  EXPECT_EQ(image.replay().impossible, 0u);
}

// Without that their calls of malloc and free would go past the recorder, and the host's about the same blocks not.
TEST(Hostile, PluginsThatBindDeeplyAreRecorded) {
  const RunResult result = run({program("plugin_host"), program("plugin.so"), "deeply"});
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.output << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_GE(allocs(image), 1500u);  // a hundred texts, and two hundred blocks exchanged, five times
  EXPECT_EQ(image.replay().impossible, 0u);
}

TEST(Hostile, AnAllocatorOfTheProgramsOwn) {
  const RunResult result = run({program("own_malloc")});
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_NE(result.only_image().header().flags.load() & trace::kSpoolBypassed, 0u);
  EXPECT_EQ(run({program("burst")}).only_image().header().flags.load() & trace::kSpoolBypassed, 0u);
}

TEST(Hostile, OutputIsLeftAlone) {
  const RunResult result = run({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_TRUE(result.exited(3));
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
}

}  // namespace
}  // namespace tare::test
