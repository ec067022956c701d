// Kills of a made-up machine, whose counters are files: which processes they are booked to, and how sure that is.
#include "core/launcher/groups/kill_ledger.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr int kKilled = SIGKILL;  // the wait status
constexpr std::uint64_t kPending = std::uint64_t{1} << (SIGKILL - 1);

// Group "/" is version 2's mount, as a container sees it.
class KillLedgerTest : public ::testing::Test {
 protected:
  KillLedgerTest() {
    put("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    machine(5);
    group("", 0);
    group("/app", 0, "67108864");
    start(10, "/app");
  }

  void put(const std::string& path, const std::string& text) {
    const fs::path whole = fs::path(dir_ / path);
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void machine(int kills) { put("proc/vmstat", "pgfault 7\noom_kill " + std::to_string(kills) + "\n"); }
  void group(const std::string& name, int kills, const std::string& limit = "max") {
    put("sys/fs/cgroup" + name + "/memory.events",
        "low 0\nhigh 3\nmax 9\noom 2\noom_kill " + std::to_string(kills) + "\noom_group_kill 0\n");
    put("sys/fs/cgroup" + name + "/memory.max", limit + "\n");
  }
  void start(pid_t pid, const std::string& group, char state = 'S', int flags = 4194304) {
    const std::string folder = "proc/" + std::to_string(pid);
    put(folder + "/cgroup", "0::" + group + "\n");
    put(folder + "/stat", std::to_string(pid) + " (a ) b) " + state + " 1 1 1 0 -1 " + std::to_string(flags) + " 0\n");
    signalled(pid, 0);
  }
  void signalled(pid_t pid, std::uint64_t pending) {
    std::ostringstream text;
    text << "Name:\ta\nSigPnd:\t0000000000000000\nShdPnd:\t" << std::hex << pending << "\n";
    put("proc/" + std::to_string(pid) + "/status", text.str());
  }
  KillLedger ledger(std::initializer_list<pid_t> pids = {10}) {
    KillLedger made(MemoryGroups(dir_.path()), *pids.begin());
    for (const pid_t pid : pids) made.enter(pid);
    return made;
  }
  static std::optional<trace::MemoryKill> end(KillLedger& ledger, pid_t pid, std::optional<int> status = kKilled,
                                              std::uint64_t now_ns = kSecond) {
    const KillLedger::Death death{pid, status, false};
    ledger.judge({&death, 1}, now_ns);
    return ledger.take(pid);
  }

  test::TempDir dir_;
};

TEST_F(KillLedgerTest, AKillOfTheOwnGroupIsSure) {
  KillLedger made = ledger();
  group("/app", 1, "67108864");
  group("", 1);
  machine(6);
  const auto kill = end(made, 10);
  ASSERT_TRUE(kill);
  EXPECT_EQ(*kill, (trace::MemoryKill{"/sys/fs/cgroup/app", true, 0, 1, 1, 64 * kMiB}));
  EXPECT_EQ(trace::certainty_of(*kill), "yes");
  EXPECT_FALSE(made.take(10));
}

TEST_F(KillLedgerTest, WithoutARiseThereIsNothingToState) {
  KillLedger made = ledger();
  EXPECT_FALSE(end(made, 10));
  KillLedger other = ledger();
  machine(6);  // in a group that nobody of the recording is in
  EXPECT_FALSE(end(other, 10));
}

TEST_F(KillLedgerTest, AnotherEndIsNone) {
  KillLedger made = ledger({10});
  group("/app", 1);
  machine(6);
  EXPECT_FALSE(end(made, 10, SIGSEGV));
  start(11, "/app");
  made = ledger({10, 11});
  group("/app", 2);
  machine(7);
  EXPECT_FALSE(end(made, 11, 0));
}

TEST_F(KillLedgerTest, AnUnknownStatusIsLikely) {
  KillLedger made = ledger();
  group("/app", 1);
  machine(6);
  const auto kill = end(made, 10, std::nullopt);
  ASSERT_TRUE(kill);
  EXPECT_EQ(trace::certainty_of(*kill), "likely");
}

TEST_F(KillLedgerTest, TwoDeathsShareAKill) {
  start(11, "/app");
  KillLedger made = ledger({10, 11});
  group("/app", 1);
  machine(6);
  const KillLedger::Death deaths[] = {{10, kKilled, false}, {11, kKilled, false}};
  made.judge(deaths, kSecond);
  for (const pid_t pid : {10, 11}) {
    const auto kill = made.take(pid);
    ASSERT_TRUE(kill);
    EXPECT_EQ(kill->deaths, 2u);
    EXPECT_EQ(trace::certainty_of(*kill), "likely");
  }
}

// The kernel kills a whole group, and one is still dying when the other has ended.
TEST_F(KillLedgerTest, TheDyingShareWithTheDead) {
  start(11, "/app");
  KillLedger made = ledger({10, 11});
  group("/app", 2);
  machine(7);
  signalled(11, kPending);
  const auto first = end(made, 10);
  const auto second = end(made, 11, std::nullopt);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(trace::certainty_of(*first), "yes");
  EXPECT_EQ(trace::certainty_of(*second), "yes") << "its signal was seen";
}

TEST_F(KillLedgerTest, AKillIsBookedOnce) {
  start(11, "/app");
  KillLedger made = ledger({10, 11});
  group("/app", 1);
  machine(6);
  EXPECT_TRUE(end(made, 10));
  EXPECT_FALSE(end(made, 11)) << "somebody else's SIGKILL";
}

TEST_F(KillLedgerTest, AVictimThatIsntRecordedTakesItsKillAlong) {
  KillLedger made = ledger();
  group("/app", 1);
  machine(6);
  made.look(kSecond);
  made.look(3 * kSecond);
  EXPECT_FALSE(end(made, 10, kKilled, 4 * kSecond));
}

TEST_F(KillLedgerTest, AVictimMayDieSlowly) {
  KillLedger made = ledger();
  group("/app", 1);
  machine(6);
  made.look(kSecond);  // it hasn't got its signal yet
  signalled(10, kPending);
  made.look(kSecond + kSecond / 2);
  made.look(9 * kSecond);
  const auto kill = end(made, 10, std::nullopt, 20 * kSecond);
  ASSERT_TRUE(kill);
  EXPECT_EQ(trace::certainty_of(*kill), "yes");
}

TEST_F(KillLedgerTest, AVictimOfAnotherGroupIsAwaitedToo) {
  group("/other", 0);
  start(11, "/other");
  KillLedger made = ledger({10, 11});
  group("/app", 1);
  group("/other", 1);
  machine(7);
  EXPECT_TRUE(end(made, 10));
  EXPECT_TRUE(end(made, 11)) << "its signal came after the first one's end";
}

TEST_F(KillLedgerTest, AGroupThatIsGoneLeavesItToThoseAbove) {
  group("", 3);
  KillLedger made = ledger();
  fs::remove_all(fs::path(dir_ / "sys/fs/cgroup/app"));
  group("", 4);
  machine(6);
  const auto kill = end(made, 10);
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->group, "/sys/fs/cgroup");
  EXPECT_EQ(kill->limit_bytes, 64 * kMiB) << "of its own, when that was there";
  EXPECT_EQ(trace::certainty_of(*kill), "likely");
}

TEST_F(KillLedgerTest, AGroupMadeAnewIsNoEvidence) {
  KillLedger made = ledger();
  fs::rename(fs::path(dir_ / "sys/fs/cgroup/app"), fs::path(dir_ / "sys/fs/cgroup/before"));
  group("/app", 4);
  group("", 0);
  machine(6);
  EXPECT_FALSE(end(made, 10)) << "the one above counted none";
}

TEST_F(KillLedgerTest, WithoutGroupsTheMachineLeavesItOpen) {
  fs::remove_all(fs::path(dir_ / "sys"));
  KillLedger made = ledger();
  machine(6);
  const auto kill = end(made, 10);
  ASSERT_TRUE(kill);
  EXPECT_EQ(*kill, (trace::MemoryKill{"", false, 5, 6, 1, 0}));
  EXPECT_EQ(trace::certainty_of(*kill), "unknown");
}

TEST_F(KillLedgerTest, WithoutTheMachinesCounterTheGroupDecides) {
  put("proc/vmstat", "pgfault 7\n");
  KillLedger made = ledger();
  group("/app", 1);
  EXPECT_TRUE(end(made, 10));
}

TEST_F(KillLedgerTest, AnEndThatIsFoundLateIsJudgedByTheFirstProcesss) {
  start(11, "/", 'Z');  // the kernel may show it in the root group
  KillLedger made = ledger({10, 11});
  group("/app", 1);
  machine(6);
  const auto kill = end(made, 11);
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->group, "/sys/fs/cgroup/app");
  EXPECT_EQ(trace::certainty_of(*kill), "likely");
}

TEST_F(KillLedgerTest, AnImageMayBeInAnotherGroupThanTheOneBefore) {
  KillLedger made = ledger();
  group("/app/inner", 2, "1048576");
  start(10, "/app/inner");
  made.enter(10);
  group("/app/inner", 3, "1048576");
  group("/app", 1, "67108864");
  machine(6);
  const auto kill = end(made, 10);
  ASSERT_TRUE(kill);
  EXPECT_EQ(*kill, (trace::MemoryKill{"/sys/fs/cgroup/app/inner", true, 2, 3, 1, kMiB}));
}

TEST_F(KillLedgerTest, GroupsThatAreEmptyAgainAreForgotten) {
  KillLedger made(MemoryGroups(dir_.path()), 10, 8);
  made.enter(10);
  for (int i = 0; i < 20; ++i) {
    group("/" + std::to_string(i), 0);
    start(11, "/" + std::to_string(i));
    made.enter(11);
    EXPECT_FALSE(end(made, 11, 0));
    EXPECT_LE(made.counters(), 12u);
  }
  group("/app", 1);
  machine(6);
  EXPECT_TRUE(end(made, 10));
}

TEST(MemoryKill, TheRule) {
  EXPECT_EQ(trace::memory_kill_certainty(false, true, 0, 1), "no");
  EXPECT_EQ(trace::memory_kill_certainty(true, false, 0, 1), "no");
  EXPECT_EQ(trace::memory_kill_certainty(true, true, 9, 1), "unknown");
  EXPECT_EQ(trace::memory_kill_certainty(false, true, 2, 2), "yes");
  EXPECT_EQ(trace::memory_kill_certainty(false, true, 1, 2), "likely");
  EXPECT_EQ(trace::memory_kill_certainty(false, false, 2, 1), "likely");
}

}  // namespace
}  // namespace tare::core
