// Real programs under the launcher: status, names of traces, processes of every kind, and what dies when.
#include "core/launcher/launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/columns/table_cache.h"
#include "core/launcher/disk_budget.h"
#include "core/launcher/spool_directory.h"
#include "core/launcher/trace_contents.h"
#include "core/tables/replay.h"
#include "support/temp_dir.h"
#include "trace/file/container.h"
#include "trace/file/trace_reader.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

using test::TempDir;
using trace::EventKind;

LaunchOptions options_for(const TempDir& dir, std::vector<std::string> command) {
  LaunchOptions options;
  options.command = std::move(command);
  options.output = dir / "t.tare";
  options.recorder_library = TARE_RECORDER;
  return options;
}

LaunchOutcome run(const LaunchOptions& options) {
  auto outcome = launch(options);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message;
    return {};
  }
  return std::move(*outcome);
}

std::vector<std::string> victim(const std::string& mode, long number) {
  return {TARE_VICTIM, mode, std::to_string(number)};
}

// The summary of the launcher equals that of a replay of the file.
void expect_same_summary(const std::string& path) {
  const auto cached = TableCache(path).load("tables");
  ASSERT_TRUE(cached) << path;
  auto opened = trace::open_trace(path);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->complete());
  Replay replay(opened->dictionary(), opened->info(), {});
  ASSERT_TRUE(opened->replay_into(replay));
  const Tables again = replay.finish(opened->clock_pairs());
  for (const Table& table : again.tables) EXPECT_EQ(table, (*cached)[table.name]) << table.name;
}

TEST(Launcher, RecordsEveryCallAndKeepsTheStatus) {
  TempDir dir;
  const LaunchOutcome outcome = run(options_for(dir, victim("churn", 300'000)));
  EXPECT_EQ(outcome.wait_status, 0);
  EXPECT_FALSE(outcome.failure);
  EXPECT_TRUE(outcome.warnings.empty()) << outcome.warnings.front();
  ASSERT_EQ(outcome.images.size(), 1u);
  const RecordedImage& image = outcome.images[0];
  EXPECT_EQ(image.path, dir / "t.tare");
  EXPECT_GE(image.events, 600'000u);
  EXPECT_LT(image.file_bytes, 100'000u);
  EXPECT_TRUE(image.info.ended_in_order);
  EXPECT_EQ(image.info.wait_status, 0);
  EXPECT_GT(image.info.peak_rss_bytes, 1u << 20);
  EXPECT_GT(image.info.spool_bytes, trace::kChunkBytes);
  EXPECT_LT(image.info.spool_bytes, image.info.peak_rss_bytes);
  EXPECT_GE(contents(image.path).kinds[EventKind::Alloc], 300'000u);
  EXPECT_EQ(std::filesystem::file_size(image.path), image.file_bytes);
  expect_same_summary(image.path);

  EXPECT_EQ(WEXITSTATUS(run(options_for(dir, victim("status", 42))).wait_status), 42);
}

// Otherwise up to 112,000 events wait for a block, and nobody knows yet how many bytes each takes.
TEST(Launcher, BlocksAreSmallWhereTheDiskIsLimited) {
  const auto largest_block = [](std::uint64_t disk_bytes) {
    TempDir dir;
    LaunchOptions options = options_for(dir, victim("churn", 300'000));
    options.budget.disk_bytes = disk_bytes;
    const LaunchOutcome outcome = run(options);
    EXPECT_GE(outcome.images.at(0).events, 600'000u);
    std::uint32_t largest = 0;
    const auto file = trace::TraceFile::open(outcome.images.at(0).path);
    EXPECT_TRUE(file);
    const auto index = file->index();
    EXPECT_TRUE(index);
    for (const trace::BlockRef& block : index->blocks) largest = std::max(largest, block.header.event_count);
    return largest;
  };
  constexpr std::uint64_t kOfChunk = trace::kChunkBytes / 8;
  EXPECT_GT(largest_block(0), 100'000u);
  EXPECT_LE(largest_block(1 << 20), DiskBudget(1 << 20).block_events() + kOfChunk);
}

TEST(Launcher, ThreadsAreMergedOnTheWay) {
  for (const char* mode : {"threads", "short-threads"}) {
    TempDir dir;
    const long number = mode == std::string("threads") ? 200'000 : 400;
    const LaunchOutcome outcome = run(options_for(dir, victim(mode, number)));
    ASSERT_EQ(outcome.images.size(), 1u);
    EXPECT_EQ(outcome.late_events, 0u);
    EXPECT_EQ(outcome.recomputed_summaries, 0u);
    EXPECT_EQ(outcome.images[0].info.dropped_events, 0u);
    EXPECT_EQ(contents(outcome.images[0].path).unknown_frees, 0u);
    expect_same_summary(outcome.images[0].path);
  }
}

TEST(Launcher, AKilledProgramsTraceHoldsEverything) {
  TempDir dir;
  const LaunchOutcome outcome = run(options_for(dir, victim("killed", 100'000)));
  EXPECT_TRUE(WIFSIGNALED(outcome.wait_status));
  EXPECT_EQ(WTERMSIG(outcome.wait_status), SIGKILL);
  ASSERT_EQ(outcome.images.size(), 1u);
  EXPECT_FALSE(outcome.images[0].info.ended_in_order);
  auto opened = trace::open_trace(outcome.images[0].path);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->complete());
  EXPECT_GE(contents(outcome.images[0].path).kinds[EventKind::Alloc], 100'000u);
}

TEST(Launcher, ImagesAreNamedByTheContract) {
  TempDir dir;
  const LaunchOutcome outcome = run(options_for(dir, victim("exec", 777)));
  ASSERT_EQ(outcome.images.size(), 2u);
  const std::string pid = std::to_string(outcome.images[0].info.pid);
  EXPECT_EQ(outcome.images[0].path, dir / "t.tare");
  EXPECT_EQ(outcome.images[1].path, dir / ("t.tare.short:" + pid + ".e0"));
  EXPECT_EQ(outcome.images[0].info.image_index, 1u);
  EXPECT_GE(contents(dir / "t.tare").kinds[EventKind::Alloc], 777u);
  EXPECT_GE(contents(outcome.images[1].path).kinds[EventKind::Alloc], 1u);
}

TEST(Launcher, ForkedChildrenNameTheirParent) {
  TempDir dir;
  const LaunchOutcome outcome = run(options_for(dir, victim("fork", 5'000)));
  ASSERT_EQ(outcome.images.size(), 2u);
  const RecordedImage& parent = outcome.images[0];
  const RecordedImage& child = outcome.images[1];
  EXPECT_EQ(child.path, dir / ("t.tare.short:" + std::to_string(child.info.pid)));
  ASSERT_TRUE(child.info.fork);
  EXPECT_EQ(child.info.fork->parent_pid, parent.info.pid);
  EXPECT_EQ(child.info.fork->parent_trace, "t.tare");
  EXPECT_GE(contents(child.path).kinds[EventKind::Alloc], 5'000u);
  EXPECT_EQ(contents(parent.path).kinds[EventKind::Fork], 1u);
}

TEST(Launcher, ForkedChildrenNameTheirParentAlsoAfterItsExec) {
  TempDir dir;
  const LaunchOutcome outcome = run(options_for(dir, victim("fork-exec", 10)));
  ASSERT_EQ(outcome.images.size(), 3u);
  for (const RecordedImage& image : outcome.images) {
    const auto opened = trace::open_trace(image.path);
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->complete());
    if (!opened->info().fork) continue;
    const auto parent = trace::open_trace(dir / opened->info().fork->parent_trace);
    ASSERT_TRUE(parent) << opened->info().fork->parent_trace;
    EXPECT_EQ(parent->info().pid, opened->info().fork->parent_pid);
    EXPECT_EQ(parent->info().image_index, opened->info().fork->parent_image);
  }
}

TEST(Launcher, WaitsForDaemonsUnlessToldNotTo) {
  TempDir dir;
  LaunchOptions options = options_for(dir, victim("daemon", 5'000));
  LaunchOutcome outcome = run(options);
  std::uint64_t most = 0;
  for (const RecordedImage& image : outcome.images) most = std::max(most, image.events);
  EXPECT_GE(most, 10'000u);

  options.wait_for = WaitFor::FirstProcess;
  outcome = run(options);
  most = 0;
  for (const RecordedImage& image : outcome.images) most = std::max(most, image.events);
  EXPECT_LT(most, 10'000u);
}

TEST(Launcher, OrphansThatEndAtOnceAreRecorded) {
  for (int round = 0; round < 5; ++round) {
    TempDir dir;
    const LaunchOutcome outcome = run(options_for(dir, victim("orphans", 100)));
    EXPECT_EQ(outcome.images.size(), 101u);
    EXPECT_TRUE(outcome.warnings.empty()) << outcome.warnings.front();
  }
}

TEST(Launcher, ManyShortProcesses) {
  TempDir dir;
  LaunchOptions options = options_for(
      dir, {"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6; do /bin/true; done; done"});
  options.summarize = Summarize::No;
  const LaunchOutcome outcome = run(options);
  EXPECT_EQ(outcome.wait_status, 0);
  std::size_t forked = 0;
  for (const RecordedImage& image : outcome.images) {
    EXPECT_TRUE(trace::open_trace(image.path)) << image.path;
    forked += image.info.pid != outcome.images[0].info.pid;
  }
  EXPECT_GE(forked, 60u);
  EXPECT_TRUE(outcome.warnings.empty()) << outcome.warnings.front();
}

TEST(Launcher, DrainsAProgramThatIsForbiddenToWakeIt) {
  TempDir dir;
  const LaunchOutcome outcome = run(options_for(dir, victim("sandbox", 5'000'000)));
  EXPECT_EQ(outcome.wait_status, 0);
  EXPECT_TRUE(outcome.warnings.empty()) << outcome.warnings.front();
  ASSERT_EQ(outcome.images.size(), 1u);
  EXPECT_EQ(outcome.images[0].info.dropped_events, 0u);
  EXPECT_GE(outcome.images[0].events, 10'000'000u);
}

TEST(Launcher, FollowsAProgramThatChangesItsUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "takes root";
  TempDir dir;
  namespace fs = std::filesystem;
  // In a folder that the other user can read.
  LaunchOptions options = options_for(dir, {dir / "victim", "setuid", "5000"});
  options.recorder_library = dir / "libtare-record.so";
  fs::copy_file(TARE_VICTIM, dir / "victim");
  fs::copy_file(TARE_RECORDER, options.recorder_library);
  fs::permissions(dir.path(), fs::perms::others_exec, fs::perm_options::add);
  LaunchOutcome outcome = run(options);
  EXPECT_EQ(outcome.wait_status, 0);
  EXPECT_TRUE(outcome.warnings.empty()) << outcome.warnings.front();
  ASSERT_EQ(outcome.images.size(), 3u);
  int churned = 0;
  for (const RecordedImage& image : outcome.images) churned += image.events >= 10'000;
  EXPECT_EQ(churned, 2);  // the child and the image after the exec

  // In a folder that it can't read, it runs without a message of ld.so.
  fs::permissions(options.recorder_library, fs::perms::owner_all);
  outcome = run(options);
  EXPECT_EQ(outcome.wait_status, 0);
  ASSERT_EQ(outcome.warnings.size(), 1u) << outcome.warnings.back();
  EXPECT_EQ(outcome.warnings[0].find("1 process could not be recorded: the user that they became can't read"), 0u)
      << outcome.warnings[0];
  EXPECT_EQ(outcome.images.size(), 2u);
}

TEST(Launcher, NoUsersButRootMayListItsFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "takes root";
  const Result<SpoolDirectory> directory = SpoolDirectory::create("/tmp");
  ASSERT_TRUE(directory);
  struct stat status;
  ASSERT_EQ(::stat(directory->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 01733u);
  ASSERT_EQ(::stat(directory->path().substr(0, directory->path().rfind('/')).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0711u);
}

TEST(Launcher, SaysWhatCouldNotBeRecordedAndWhy) {
  TempDir dir;
  LaunchOutcome outcome = run(options_for(dir, {TARE_VICTIM, "run", TARE_STATIC_VICTIM, "status", "0"}));
  EXPECT_EQ(outcome.wait_status, 0);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_EQ(outcome.warnings[0],
            "1 process could not be recorded: linked statically, and only dynamic programs load the recorder "
            "(collect_victim_static)");
  if (::geteuid() != 0) return;
  outcome = run(options_for(dir, victim("chroot", 3)));
  EXPECT_EQ(outcome.wait_status, 0);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_EQ(outcome.warnings[0].find("3 processes could not be recorded: they can't reach "), 0u)
      << outcome.warnings[0];
}

// The output of launch_command under such a hard limit on descriptors.
std::string launch_with_descriptors(const TempDir& dir, int descriptors, int children) {
  const std::string command = "ulimit -n " + std::to_string(descriptors) + "; exec " + TARE_LAUNCH_COMMAND + " " +
                              TARE_RECORDER + " " + (dir / "t.tare") + " -- " + TARE_VICTIM + " brood " +
                              std::to_string(children) + " 2>&1";
  std::string all;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe)) all.append(buffer, got);
  EXPECT_EQ(::pclose(pipe), 0) << all;
  return all;
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Launcher, RecordsMoreProcessesThanItHasDescriptors) {
  TempDir dir;
  const std::string output = launch_with_descriptors(dir, 128, 150);
  EXPECT_EQ(count_of(output, "image "), 151u) << output;
  EXPECT_EQ(count_of(output, "warning: "), 0u) << output;
  std::size_t complete = 0;
  const auto container = trace::read_container(dir / "t.tare.short");
  ASSERT_TRUE(container) << container.error().message;
  for (const trace::ContainerMember& member : container->members) {
    const std::string path = dir / ("t.tare.short:" + member.name);
    auto opened = trace::open_trace(path);
    ASSERT_TRUE(opened) << opened.error().message;
    complete += opened->complete() && contents(path).kinds[EventKind::Alloc] >= 2010;
  }
  EXPECT_EQ(complete, 150u);
}

TEST(Launcher, CatchesUpWhenItHasDescriptorsAgain) {
  TempDir dir;
  const std::string output = launch_with_descriptors(dir, 36, 60);
  EXPECT_EQ(count_of(output, "image "), 61u) << output;
  EXPECT_EQ(count_of(output, "warning: "), 0u) << output;
}

TEST(Launcher, AFullDiskLeavesTheProgramAlone) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP();
  TempDir dir;
  LaunchOptions options = options_for(dir, victim("churn", 2'000'000));
  options.output = "/dev/full";
  const LaunchOutcome outcome = run(options);
  EXPECT_EQ(outcome.wait_status, 0);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, ErrorKind::Io);
  EXPECT_NE(outcome.failure->message.find("/dev/full"), std::string::npos);
}

TEST(Launcher, AFullDiskIsNotLitteredWithEmptyTraces) {
  TempDir dir;
  if (::mount("tare-test", dir.path().c_str(), "tmpfs", 0, "size=16k") != 0) GTEST_SKIP() << "mounting takes root";
  const LaunchOutcome outcome = run(options_for(dir, victim("orphans", 20)));
  EXPECT_EQ(outcome.wait_status, 0);
  ASSERT_TRUE(outcome.failure);
  EXPECT_NE(outcome.failure->message.find("No space left"), std::string::npos) << outcome.failure->message;
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_NE(outcome.warnings[0].find(" processes have no trace"), std::string::npos) << outcome.warnings[0];
  EXPECT_LT(outcome.images.size(), 20u);
  for (const RecordedImage& image : outcome.images) EXPECT_TRUE(trace::open_trace(image.path)) << image.path;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    EXPECT_TRUE(!entry.is_regular_file() || entry.file_size() > 0) << entry.path();
  }
  ::umount(dir.path().c_str());
}

TEST(Launcher, SaysBeforeTheStartWhatCannotBe) {
  TempDir dir;
  std::ofstream(dir / "text") << "#!/no/such/interpreter\n";
  std::filesystem::permissions(dir / "text", std::filesystem::perms::owner_all);
  const auto kind_of = [&](std::vector<std::string> command, const std::string& output) {
    LaunchOptions options = options_for(dir, std::move(command));
    options.output = output;
    const auto outcome = launch(options);
    if (outcome) return ErrorKind::Internal;
    EXPECT_EQ(outcome.error().message.find('\n'), std::string::npos);
    return outcome.error().kind;
  };
  EXPECT_EQ(kind_of({}, dir / "t"), ErrorKind::Usage);
  EXPECT_EQ(kind_of({"no-such-command-at-all"}, dir / "t"), ErrorKind::CommandNotFound);
  EXPECT_EQ(kind_of({"./no/such/file"}, dir / "t"), ErrorKind::CommandNotFound);
  EXPECT_EQ(kind_of({dir / "text"}, dir / "t"), ErrorKind::CommandNotFound);
  EXPECT_EQ(kind_of({dir.path()}, dir / "t"), ErrorKind::CannotRecord);
  EXPECT_EQ(kind_of({TARE_STATIC_VICTIM, "churn"}, dir / "t"), ErrorKind::CannotRecord);
  EXPECT_EQ(kind_of({TARE_VICTIM}, "/proc/no/such/file"), ErrorKind::Io);
  EXPECT_EQ(kind_of({TARE_VICTIM}, dir.path()), ErrorKind::Io);
}

TEST(Launcher, AScriptWithoutInterpreterRunsInTheShell) {
  TempDir dir;
  std::ofstream(dir / "script") << "exit 5\n";
  std::filesystem::permissions(dir / "script", std::filesystem::perms::owner_all);
  EXPECT_EQ(WEXITSTATUS(run(options_for(dir, {dir / "script"})).wait_status), 5);
}

}  // namespace
}  // namespace tare::core
