// Control groups of made-up machines: version 1, hybrids, containers, and other namespaces.
#include "core/launcher/groups/memory_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

class MemoryGroupsTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const fs::path whole = fs::path(dir_ / path);
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void process(const std::string& groups, const std::string& state = "S", int flags = 0) {
    put("proc/7/cgroup", groups);
    put("proc/7/stat", "7 (x) " + state + " 1 1 1 0 -1 " + std::to_string(flags) + " 0\n");
  }
  void mounted(const std::string& lines) { put("proc/self/mountinfo", lines); }
  MemoryGroups groups() { return MemoryGroups(dir_.path()); }

  test::TempDir dir_;
};

TEST_F(MemoryGroupsTest, VersionOneCountsInTheGroupItself) {
  mounted(
      "29 23 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup "
      "rw,memory\n");
  const std::string folder = "/sys/fs/cgroup/memory/app/web";
  put(folder.substr(1) + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 2\n");
  put(folder.substr(1) + "/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/app/memory.limit_in_bytes", "1048576\n");
  process("9:name=systemd:/x\n4:memory,hugetlb:/app/web\n0::/x\n");
  EXPECT_EQ(groups().of_process(7), folder);
  EXPECT_EQ(groups().with_parents(folder), std::vector<std::string>{folder});
  ASSERT_TRUE(groups().kills(folder));
  EXPECT_EQ(groups().kills(folder)->kills, 2u);
  EXPECT_NE(groups().kills(folder)->inode, 0u);
  EXPECT_EQ(groups().limit_bytes(folder), 1u << 20) << "the one above has the lowest";
}

TEST_F(MemoryGroupsTest, AHybridLimitsByVersionOne) {
  mounted(
      "30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "31 29 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  fs::create_directories(fs::path(dir_ / "sys/fs/cgroup/memory/app"));
  fs::create_directories(fs::path(dir_ / "sys/fs/cgroup/unified/app"));
  process("4:memory:/app\n0::/app\n");
  EXPECT_EQ(groups().of_process(7), "/sys/fs/cgroup/memory/app");
}

TEST_F(MemoryGroupsTest, AContainersGroupIsItsRoot) {
  put("sys/fs/cgroup/memory.events", "oom 1\noom_kill 4\n");
  put("sys/fs/cgroup/memory.max", "67108864\n");
  mounted("30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");  // with a namespace of its own
  process("0::/\n");
  EXPECT_EQ(groups().of_process(7), "/sys/fs/cgroup");
  EXPECT_EQ(groups().with_parents("/sys/fs/cgroup"), std::vector<std::string>{"/sys/fs/cgroup"});
  EXPECT_EQ(groups().kills("/sys/fs/cgroup")->kills, 4u);
  EXPECT_EQ(groups().limit_bytes("/sys/fs/cgroup"), 64u << 20);
  mounted("30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");  // without
  process("0::/docker/abc\n");
  EXPECT_EQ(groups().of_process(7), "/sys/fs/cgroup");
}

TEST_F(MemoryGroupsTest, AGroupOfAnotherNamespaceIsntGuessed) {
  mounted("30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  fs::create_directories(fs::path(dir_ / "sys/fs/cgroup/sibling"));
  process("0::/../sibling\n");
  EXPECT_EQ(groups().of_process(7), "");
  process("0::/gone (deleted)\n");
  EXPECT_EQ(groups().of_process(7), "");
}

TEST_F(MemoryGroupsTest, AProcessThatIsEndingHasNone) {
  mounted("30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  fs::create_directories(fs::path(dir_ / "sys/fs/cgroup"));
  process("0::/\n");
  EXPECT_EQ(groups().of_process(7), "/sys/fs/cgroup");
  process("0::/\n", "Z");
  EXPECT_EQ(groups().of_process(7), "");
  process("0::/\n", "R", 4);
  EXPECT_EQ(groups().of_process(7), "");
  EXPECT_EQ(groups().of_process(8), "") << "it's gone";
}

TEST_F(MemoryGroupsTest, RoomIsTheLeastOfAllLevels) {
  mounted("30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  const std::string folder = "/sys/fs/cgroup/app/web";
  put(folder.substr(1) + "/memory.max", "1000\n");
  put(folder.substr(1) + "/memory.current", "900\n");
  put(folder.substr(1) + "/memory.stat", "anon 500\ninactive_file 200\nactive_file 30\n");
  EXPECT_EQ(groups().free_bytes(folder), 330u) << "pages of files can be dropped";
  put("sys/fs/cgroup/app/memory.max", "5000\n");
  put("sys/fs/cgroup/app/memory.current", "5100\n");
  put("sys/fs/cgroup/app/memory.stat", "inactive_file 60\nactive_file 40\n");
  EXPECT_EQ(groups().free_bytes(folder), 0u) << "the one above is full";
  put("sys/fs/cgroup/app/memory.max", "max\n");
  put(folder.substr(1) + "/memory.max", "max\n");
  EXPECT_EQ(groups().free_bytes(folder), std::nullopt);
}

TEST_F(MemoryGroupsTest, RoomInVersionOneCountsGroupsBelow) {
  mounted("30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  const std::string folder = "/sys/fs/cgroup/memory/app";
  put(folder.substr(1) + "/memory.limit_in_bytes", "1000\n");
  put(folder.substr(1) + "/memory.usage_in_bytes", "950\n");
  put(folder.substr(1) + "/memory.stat",
      "inactive_file 1\nactive_file 2\ntotal_inactive_file 100\ntotal_active_file 50\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "7000\n");
  EXPECT_EQ(groups().free_bytes(folder), 200u);
  EXPECT_EQ(groups().free_bytes(""), std::nullopt);
}

TEST_F(MemoryGroupsTest, AFolderMayHaveASpace) {
  mounted("30 23 0:26 / /sys/fs/c\\040group ro - cgroup2 cgroup2 rw\n");
  put("sys/fs/c group/a/memory.events", "oom_kill 1\n");
  process("0::/a\n");
  EXPECT_EQ(groups().of_process(7), "/sys/fs/c group/a");
  EXPECT_EQ(groups().with_parents("/sys/fs/c group/a"),
            (std::vector<std::string>{"/sys/fs/c group/a", "/sys/fs/c group"}));
}

TEST_F(MemoryGroupsTest, NothingToReadIsNoCounter) {
  EXPECT_FALSE(groups().machine_kills());
  EXPECT_FALSE(groups().kills("/none"));
  EXPECT_EQ(groups().limit_bytes("/none"), 0u);
  EXPECT_EQ(groups().with_parents(""), std::vector<std::string>{});
  EXPECT_FALSE(groups().is_dying(7));
  mounted("30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  put("sys/fs/cgroup/memory.events", "oom_kill_disable 1\noom_kill many\n");
  EXPECT_FALSE(groups().kills("/sys/fs/cgroup"));
  put("proc/vmstat", "oom_kill 18446744073709551616\n");
  EXPECT_FALSE(groups().machine_kills());
}

}  // namespace
}  // namespace tare::core
