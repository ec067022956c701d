// A launcher that is stopped or dead, a full disk, no place at all: the program goes on, and what's lost is counted.
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "test_launcher.h"

namespace tare::test {
namespace {

std::string fresh_folder() {
  char name[] = "/tmp/tare-test-XXXXXX";
  return mkdtemp(name);
}

// A tmpfs of its own, where the tests run as root.
class SmallTmpfs {
 public:
  explicit SmallTmpfs(const char* size) : path_(fresh_folder()) {
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
  }
  ~SmallTmpfs() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(path_);
  }
  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool mounted_;
};

std::uint64_t written(const SpoolImage& image) {
  std::uint64_t events = 0;
  for (const ThreadEvents& thread : image.threads()) {
    for (const RawEvent& event : thread.events) events += event.op == trace::Op::Alloc || event.op == trace::Op::Free;
  }
  return events;
}

TEST(SpoolFull, AStoppedLauncherCostsAMomentAndIsCounted) {
  RunOptions options;
  options.launcher = Launcher::Stopped;
  options.environment = {"TARE_SPOOL_BYTES=1048576"};
  const RunResult result = run({program("burst"), "2000000"}, options);
  ASSERT_TRUE(result.exited(0));
  EXPECT_LT(result.seconds, 10);
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.header().chunk_count.load(), 18u);  // 16, or two a thread and 16
  EXPECT_EQ(written(image) + image.header().dropped_events.load(), 4'000'000u);
}

TEST(SpoolFull, ALauncherThatDecidesNothingLeavesTheUsualRoom) {
  RunOptions options;
  options.launcher = Launcher::Stopped;
  options.environment = {"TARE_SPOOL_BYTES=8388608"};
  const RunResult result = run({program("burst"), "2000000"}, options);
  ASSERT_TRUE(result.exited(0));
  EXPECT_EQ(result.only_image().header().chunk_count.load(), 128u);
}

TEST(SpoolFull, ALaunchersLimitHolds) {
  RunOptions options;
  options.environment = {"TARE_SPOOL_BYTES=8388608"};
  options.most_chunks = 20;
  const RunResult result = run({program("burst"), "2000000"}, options);
  ASSERT_TRUE(result.exited(0));
  const SpoolImage& image = result.only_image();
  EXPECT_LE(image.header().chunk_count.load(), trace::kUndecidedChunks);
  EXPECT_EQ(written(image), 4'000'000u);
}

TEST(SpoolFull, ADeadLaunchersSpoolFillsUpAndIsTheEnd) {
  RunOptions options;
  options.launcher = Launcher::Dying;
  options.environment = {"TARE_SPOOL_BYTES=1048576"};
  // long enough, a second or more, to look for the launcher again if it wasn't dead yet when the spool was full
  const RunResult result = run({program("burst"), "60000000"}, options);
  ASSERT_TRUE(result.exited(0));
  const SpoolImage& image = result.only_image();
  EXPECT_NE(image.header().flags.load() & trace::kSpoolOrphaned, 0u);
  EXPECT_EQ(image.header().flags.load() & trace::kSpoolEnded, 0u);
  EXPECT_EQ(image.header().chunk_count.load(), 18u);
  EXPECT_GT(written(image), 10'000u);
  EXPECT_GE(image.header().dropped_events.load(), 1u);
  EXPECT_EQ(image.replay().impossible, 0u);
}

TEST(SpoolFull, AProcessThatBeginsAfterItsLauncherIsntRecorded) {
  RunOptions options;
  options.launcher = Launcher::Dead;
  const RunResult result = run({program("burst"), "1000"}, options);
  ASSERT_TRUE(result.exited(0));
  EXPECT_TRUE(result.images.empty());
  EXPECT_EQ(result.errors, "");
}

TEST(SpoolFull, WithoutALauncherTheSpoolHoldsEverything) {
  RunOptions options;
  options.launcher = Launcher::None;
  const RunResult result = run({program("burst"), "3000000"}, options);  // several segments
  ASSERT_TRUE(result.exited(0));
  const SpoolImage& image = result.only_image();
  EXPECT_NE(image.path.find("/tare.burst."), std::string::npos) << image.path;
  EXPECT_NE(image.header().flags.load() & trace::kSpoolStandalone, 0u);
  EXPECT_EQ(written(image), 6'000'000u);
  EXPECT_EQ(image.replay().impossible, 0u);
}

TEST(SpoolFull, AFullTmpfs) {
  SmallTmpfs tmpfs("4m");
  if (!tmpfs.mounted()) GTEST_SKIP() << "mounting takes root";
  RunOptions options;
  options.directory = tmpfs.path();
  for (const Launcher launcher : {Launcher::None, Launcher::Draining}) {
    options.launcher = launcher;
    const RunResult result = run({program("burst"), "1000000"}, options);
    ASSERT_TRUE(result.exited(0)) << result.wait_status;
    const SpoolImage& image = result.only_image();
    if (launcher == Launcher::Draining) {
      EXPECT_EQ(image.header().dropped_events.load(), 0u);
    } else {
      EXPECT_GT(image.header().dropped_events.load(), 0u);
      EXPECT_NE(result.errors.find("no space left"), std::string::npos) << result.errors;
    }
    std::filesystem::remove(image.path);
  }
}

TEST(SpoolFull, NoRoomForASpoolAtAll) {
  SmallTmpfs tmpfs("16k");
  if (!tmpfs.mounted()) GTEST_SKIP() << "mounting takes root";
  RunOptions options;
  options.directory = tmpfs.path();
  options.launcher = Launcher::Stopped;
  const RunResult result = run({program("burst"), "1000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_TRUE(result.images.empty());
  // Told to the launcher, not to the user amid the program's own words.
  EXPECT_EQ(result.errors, "");
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_TRUE(result.notices[0].starts_with("burst\nno spool can be made in ")) << result.notices[0];
  EXPECT_TRUE(result.notices[0].ends_with("no space left")) << result.notices[0];
}

TEST(SpoolFull, AFolderThatIsGoneWithItsLauncher) {
  RunOptions options;
  options.launcher = Launcher::None;
  options.environment = {"TARE_SPOOL_DIR=/nowhere/at/all"};
  const RunResult result = run({program("burst"), "1000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_EQ(result.errors, "");
}

TEST(SpoolFull, AFolderThatTakesNoFiles) {
  RunOptions options;
  options.launcher = Launcher::None;
  options.environment = {"TARE_SPOOL_DIR=/sys"};
  const RunResult result = run({program("burst"), "1000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_EQ(result.errors.find("tare: no spool can be made in /sys: "), 0u) << result.errors;
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1);
}

TEST(SpoolFull, AWorkingDirectoryThatTakesNoFiles) {
  const std::string folder = fresh_folder();
  RunOptions options;
  options.launcher = Launcher::None;
  options.directory = folder;
  options.environment = {"TMPDIR=" + folder};
  const RunResult result = run({"/bin/sh", "-c", "cd /proc; exec " + program("burst") + " 1000"}, options);
  ASSERT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.images.size(), 2u);  // the shell's and the program's
  std::filesystem::remove_all(folder);
}

TEST(SpoolFull, Killed) {
  for (int i = 0; i < 5; ++i) {
    RunOptions options;
    options.kill_after_s = 0.1 + 0.05 * i;
    options.launcher = i % 2 == 0 ? Launcher::Draining : Launcher::None;
    const RunResult result = run({program("spin")}, options);
    const SpoolImage& image = result.only_image();
    EXPECT_EQ(image.header().flags.load() & trace::kSpoolEnded, 0u);
    const Replayed replayed = image.replay();
    EXPECT_GT(replayed.allocs, 1000u);
    EXPECT_EQ(replayed.impossible, 0u);
    EXPECT_EQ(replayed.unknown_frees, 0u);
  }
}

}  // namespace
}  // namespace tare::test
