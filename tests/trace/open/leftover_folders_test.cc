#include "trace/open/leftover_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tare::trace {
namespace {

namespace fs = std::filesystem;

class LeftoverFolders : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    const fs::path file = parent_.path() + "/" + name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.parent_path();
  }
  std::vector<LeftoverFolder> found() { return find_leftover_folders({parent_.path(), parent_.path()}); }
  test::TempDir parent_;
};

TEST_F(LeftoverFolders, BearALaunchersMark) {
  put("tare-stranger/control", "mine");
  put("elsewhere/control", "TARECTL\n");
  fs::create_directory_symlink(put("away/control", "TARECTL\n"), parent_.path() + "/tare-link");
  const std::string plain = put("tare-plain/control", "TARECTL\n");
  put("tare-plain/7.0.spool", "events");
  put("tare-plain/8.0.spool", "");  // a name that is kept, no spool
  const std::string of_root = put("tare-outer/tare-inner/control", "TARECTL\n");
  ASSERT_EQ(found().size(), 2u);
  EXPECT_EQ(found()[0].path, of_root);
  EXPECT_EQ(found()[1].path, plain);
  EXPECT_EQ(found()[1].spools, 1u);
  EXPECT_GT(found()[1].bytes, 0u);
  EXPECT_FALSE(found()[1].launcher_lives);
}

TEST_F(LeftoverFolders, AreDeletedWithWhatARecordingMadeInThem) {
  const std::string inner = put("tare-outer/tare-inner/control", "TARECTL\n");
  for (const char* name : {"7.0.spool", ".7.123456.tmp", "retired", "7.99.unrecorded"}) {
    put("tare-outer/tare-inner/" + std::string(name), "x");
  }
  EXPECT_TRUE(remove_leftover_folder(inner));
  EXPECT_FALSE(fs::exists(parent_.path() + "/tare-outer"));
}

TEST_F(LeftoverFolders, KeepFilesOfOthers) {
  const std::string folder = put("tare-plain/control", "TARECTL\n");
  put("tare-plain/notes.tmp", "mine");
  put("tare-plain/.hidden.tmp", "mine");
  EXPECT_FALSE(remove_leftover_folder(folder));
  EXPECT_TRUE(fs::exists(folder + "/notes.tmp"));
  EXPECT_TRUE(fs::exists(folder + "/.hidden.tmp"));
  EXPECT_FALSE(remove_leftover_folder(put("tare-stranger/control", "mine")));
  EXPECT_TRUE(fs::exists(parent_.path() + "/tare-stranger/control"));
}

}  // namespace
}  // namespace tare::trace
