// What a trace says about its spool is believed only of a recording's folder, and only a recording's files are deleted.
#include "trace/spool/spool_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/spool_builder.h"
#include "support/spool_script.h"
#include "support/temp_dir.h"
#include "trace/file/trace_writer.h"
#include "trace/open/finish_leftover.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

namespace fs = std::filesystem;
using trace::SpoolFolder;

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// An unfinished trace of a process that is gone, which names this spool. It has no events.
void write_gift(const std::string& path, const std::string& spool_path, std::uint32_t pid) {
  auto writer = trace::TraceWriter::create(path);
  ASSERT_TRUE(writer);
  trace::ProcessRecord record;
  record.spool_path = spool_path;
  record.info.pid = pid;
  record.info.start_realtime_ns = 0;
  writer->put_process(record);
  ASSERT_TRUE(writer->flush());
}

TEST(SpoolFolder, IsNoneWithoutTheMarkOfALauncher) {
  TempDir dir;
  fs::create_directory(dir / "tare-plain");
  EXPECT_FALSE(SpoolFolder::around(dir / "tare-plain/1.0.spool"));
  write_text(dir / "tare-plain/control", "something else");
  EXPECT_FALSE(SpoolFolder::around(dir / "tare-plain/1.0.spool"));
  fs::remove(dir / "tare-plain/control");
  ASSERT_EQ(::mkfifo((dir / "tare-plain/control").c_str(), 0600), 0);
  EXPECT_FALSE(SpoolFolder::around(dir / "tare-plain/1.0.spool"));

  make_spool_folder(dir / "other");
  EXPECT_FALSE(SpoolFolder::around(dir / "other/1.0.spool"));
  make_spool_folder(dir / "tare-real");
  EXPECT_TRUE(SpoolFolder::around(dir / "tare-real/1.0.spool"));
  fs::create_directory_symlink(dir / "tare-real", dir / "tare-link");
  EXPECT_FALSE(SpoolFolder::around(dir / "tare-link/1.0.spool"));
  EXPECT_FALSE(SpoolFolder::around("tare-real/1.0.spool"));
  EXPECT_FALSE(SpoolFolder::around(""));
}

TEST(SpoolFolder, OfAnotherUserIsNone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  TempDir dir;
  make_spool_folder(dir / "tare-real");
  ASSERT_EQ(::chown((dir / "tare-real").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(SpoolFolder::around(dir / "tare-real/1.0.spool"));
}

TEST(SpoolFolder, LosesWhatARecordingMadeAndNothingElse) {
  TempDir dir;
  const std::string folder = dir / "tare-real";
  make_spool_folder(folder);
  for (const char* name : {"/1.0.spool", "/retired", "/7.unrecorded", "/7.request", "/7.answer", "/7.tables"}) {
    write_text(folder + name, "made by a recording");
  }
  fs::create_directory(folder + "/letters");
  write_text(folder + "/letters/to-a-friend", "dear");
  write_text(folder + "/notes.txt", "mine");
  SpoolFolder::around(folder + "/1.0.spool")->remove_spool("1.0.spool");
  EXPECT_FALSE(fs::exists(folder + "/1.0.spool"));
  EXPECT_FALSE(fs::exists(folder + "/control"));
  EXPECT_FALSE(fs::exists(folder + "/7.answer"));
  EXPECT_TRUE(fs::exists(folder + "/letters/to-a-friend"));
  EXPECT_TRUE(fs::exists(folder + "/notes.txt"));
}

TEST(SpoolFolder, KeepsEverythingWhileAnotherSpoolHoldsSomething) {
  TempDir dir;
  const std::string folder = dir / "tare-real";
  make_spool_folder(folder);
  write_text(folder + "/1.0.spool", "this one");
  write_text(folder + "/2.0.spool", "another process's");
  SpoolFolder::around(folder + "/1.0.spool")->remove_spool("1.0.spool");
  EXPECT_TRUE(fs::exists(folder + "/2.0.spool"));
  EXPECT_TRUE(fs::exists(folder + "/control"));
  SpoolFolder::around(folder + "/2.0.spool")->remove_spool("2.0.spool");
  EXPECT_FALSE(fs::exists(folder));
}

TEST(SpoolFolder, DeletesOnlySpoolsByName) {
  TempDir dir;
  const std::string folder = dir / "tare-real";
  make_spool_folder(folder);
  write_text(dir / "diary", "private");
  fs::create_symlink(dir / "diary", folder + "/1.0.spool");
  std::optional<SpoolFolder> found = SpoolFolder::around(folder + "/1.0.spool");
  for (const char* name : {"1.0.spool", "../diary", "control", "", ".", "1.spool", "1.0.spool/"}) {
    found->remove_spool(name);
  }
  EXPECT_TRUE(fs::exists(folder + "/control"));
  EXPECT_TRUE(fs::exists(dir / "diary"));
}

TEST(SpoolFolder, OfAGiftIsLeftAlone) {
  TempDir dir;
  const std::string folder = dir / "tare-letters";
  fs::create_directory(folder);
  write_text(folder + "/to-a-friend", "dear");
  constexpr std::uint32_t kGone = 2147483646;  // beyond what the kernel gives
  {
    SpoolBuilder spool(folder + "/a.spool", {.pid = kGone});
    play({.calls = 100}, spool);
  }
  write_gift(dir / "gift.tare", folder + "/a.spool", kGone);
  ASSERT_TRUE(trace::finish_leftover(dir / "gift.tare"));
  EXPECT_TRUE(fs::exists(folder + "/to-a-friend"));
  EXPECT_TRUE(fs::exists(folder + "/a.spool"));
}

TEST(SpoolFolder, ThatIsAPipeHoldsUpNobody) {
  TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  write_gift(dir / "gift.tare", dir / "pipe", 2147483646);
  EXPECT_TRUE(trace::finish_leftover(dir / "gift.tare"));
  EXPECT_TRUE(trace::open_trace(dir / "gift.tare"));
  EXPECT_FALSE(trace::open_trace(dir / "pipe"));
}

}  // namespace
}  // namespace tare::test
