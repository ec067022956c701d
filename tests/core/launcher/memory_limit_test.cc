#include "core/launcher/groups/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

class MemoryLimit : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  test::TempDir root_;
};

TEST_F(MemoryLimit, IsTheLowestOfTheGroupAndThoseAround) {
  put("/a/memory.max", "300000000");
  put("/a/b/memory.max", "max");
  put("/a/b/c/memory.max", "400000000");
  EXPECT_EQ(memory_limit_bytes("0::/a/b/c\n", root_.path()), 300000000u);
  EXPECT_EQ(memory_limit_bytes("0::/a/b/elsewhere\n", root_.path()), 300000000u);
  EXPECT_EQ(memory_limit_bytes("0::/x\n", root_.path()), std::nullopt);
}

TEST_F(MemoryLimit, OfVersionOneIsAControllersOwn) {
  put("/memory/box/memory.limit_in_bytes", "200000000");
  put("/memory/memory.limit_in_bytes", "9223372036854771712");
  const std::string groups = "5:devices:/box\n4:cpu,memory:/box\n0::/\n";
  EXPECT_EQ(memory_limit_bytes(groups, root_.path()), 200000000u);
  EXPECT_EQ(memory_limit_bytes("4:memory:/\n", root_.path()), std::nullopt);
}

TEST_F(MemoryLimit, TextThatMakesNoSenseIsNone) {
  for (const char* text : {"", "\n", "0", "0:", "0::", "::::", "4:memory:relative\n", "0::/../../..\n"}) {
    EXPECT_EQ(memory_limit_bytes(text, root_.path()), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tare::core
