// Reports and pools inside this process, from many threads and forked children, read back from its spool.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/heavy_tables/program_reports.h"
#include "recorder/recorder.h"
#include "recorder/reports/report.h"
#include "trace/open/open_trace.h"
#include "trace/spool/program_note.h"

namespace tare::recorder {
namespace {

namespace fs = std::filesystem;
using core::Table;
using core::Tables;

// Addresses that only these tests use: nothing is read or written there.
std::uint64_t made_up(int test, int thread, int block) {
  return 0x20'0000'0000 + (static_cast<std::uint64_t>(test * 16 + thread) << 32) +
         static_cast<std::uint64_t>(block) * 64;
}

__attribute__((noinline)) void alloc(std::uint64_t address, std::uint64_t bytes) {
  record_alloc(TARE_HERE, Block{address, bytes, bytes + 8, trace::AllocApi::Malloc, 0, 0});
}
__attribute__((noinline)) void report(std::uint64_t address, const std::string& path) {
  record_report(TARE_HERE, address, path.c_str(), ReportTime::InRound);
}
__attribute__((noinline)) std::uint64_t make_pool(const std::string& name) {
  return record_pool_create(TARE_HERE, name.c_str());
}
__attribute__((noinline)) void pool_memory(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) {
  record_pool_memory(TARE_HERE, pool, address, bytes);
}
__attribute__((noinline)) void pool_alloc(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) {
  record_pool_alloc(TARE_HERE, pool, address, bytes);
}
__attribute__((noinline)) void pool_free(std::uint64_t pool, std::uint64_t address) {
  record_pool_note(TARE_HERE, pool, trace::Op::PoolFree, address);
}
__attribute__((noinline)) void destroy_pool(std::uint64_t pool) { record_pool_destroy(TARE_HERE, pool); }

// Started once: the recorder is one a process.
class RecordedReports : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/tare-test-XXXXXX";
    folder_ = new std::string(mkdtemp(name));
    static std::string variable = std::string(trace::kEnvSpoolDir) + "=" + *folder_;
    static char* environment[] = {variable.data(), nullptr};
    recorder.start(environment);
    ASSERT_TRUE(recorder.alive());
  }
  static void TearDownTestSuite() {
    fs::remove_all(*folder_);
    delete folder_;
  }

  struct Told {
    std::vector<std::string> names;
    Tables tables;
    std::vector<std::string> warnings;
  };
  static Told told(pid_t pid) {
    const auto opened = trace::open_trace(*folder_ + "/" + std::to_string(pid) + ".0" + trace::kSpoolSuffix);
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      return {};
    }
    core::ProgramReports reports(opened->dictionary(), opened->info(), opened->clock_pairs());
    EXPECT_TRUE(opened->replay_into(reports));
    Tables tables = reports.finish();
    return {opened->dictionary().names, std::move(tables), reports.warnings()};
  }
  static std::vector<std::size_t> rows_with(const Table& table, const char* column, const std::string& prefix) {
    std::vector<std::size_t> found;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (!table[column].is_null(row) && table[column].text(row).starts_with(prefix)) found.push_back(row);
    }
    return found;
  }

  static std::string* folder_;
};
std::string* RecordedReports::folder_ = nullptr;

TEST_F(RecordedReports, ComeFromManyThreadsAtOnce) {
  constexpr int kThreads = 4, kBlocks = 3000, kPaths = 50;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      const std::uint64_t pool = make_pool("threads/pool");
      pool_memory(pool, made_up(1, thread, 0), kBlocks * 64);
      for (int i = 0; i < kBlocks; ++i) {
        alloc(made_up(0, thread, i), 32);
        report(made_up(0, thread, i), "threads/path-" + std::to_string(i % kPaths));
        pool_alloc(pool, made_up(1, thread, i), 64);
        if (i % 2 == 1) pool_free(pool, made_up(1, thread, i - 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Told all = told(getpid());
  EXPECT_EQ(std::count_if(all.names.begin(), all.names.end(),
                          [](const std::string& name) { return name.starts_with("threads/"); }),
            kPaths + 1);
  const Table& reports = all.tables["reports"];
  const auto rows = rows_with(reports, "path", "threads/");
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kThreads * kBlocks));
  for (const std::size_t row : rows) {
    ASSERT_FALSE(reports["block_id"].is_null(row));
    ASSERT_EQ(reports["usable_bytes"].ints[row], 40);
    ASSERT_EQ(reports["nth"].ints[row], 1);
    ASSERT_EQ(reports["standing"].ints[row], 1);
  }
  const Table& pools = all.tables["pools"];
  const auto pool_rows = rows_with(pools, "name", "threads/");
  ASSERT_EQ(pool_rows.size(), static_cast<std::size_t>(kThreads));
  for (const std::size_t row : pool_rows) {
    EXPECT_EQ(pools["total_blocks"].ints[row], kBlocks);
    EXPECT_EQ(pools["blocks"].ints[row], kBlocks / 2);
    EXPECT_EQ(pools["used_bytes"].ints[row], kBlocks / 2 * 64);
    EXPECT_EQ(pools["memory_bytes"].ints[row], kBlocks * 64);
  }
  EXPECT_TRUE(all.warnings.empty());
}

TEST_F(RecordedReports, AForkedChildSpeaksForItself) {
  const std::uint64_t pool = make_pool("parents");
  alloc(made_up(3, 0, 0), 32);
  report(made_up(3, 0, 0), "before/fork");
  const pid_t child = fork();
  if (child == 0) {
    pool_alloc(pool, made_up(3, 0, 1), 64);  // of a pool that this process never made
    destroy_pool(pool);
    const std::uint64_t own = make_pool("childs");
    pool_alloc(own, made_up(3, 0, 1), 48);
    alloc(made_up(3, 0, 2), 16);
    report(made_up(3, 0, 2), "before/fork");
    report(made_up(3, 0, 2), "after/fork");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  pool_alloc(pool, made_up(3, 0, 3), 64);
  const Told childs = told(child);
  ASSERT_EQ(childs.tables["pools"].rows(), 1u);
  EXPECT_EQ(childs.tables["pools"]["name"].text(0), "childs");
  EXPECT_EQ(childs.tables["pools"]["used_bytes"].ints[0], 48);
  ASSERT_EQ(childs.tables["reports"].rows(), 2u);
  EXPECT_EQ(childs.tables["reports"]["path"].text(0), "before/fork");
  EXPECT_EQ(childs.tables["reports"]["path"].text(1), "after/fork");
  EXPECT_TRUE(childs.warnings.empty());
  const Told parents = told(getpid());
  const auto rows = rows_with(parents.tables["pools"], "name", "parents");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(parents.tables["pools"]["used_bytes"].ints[rows[0]], 64);
  EXPECT_TRUE(rows_with(parents.tables["pools"], "name", "childs").empty());
}

TEST_F(RecordedReports, PoolNumbersAreUsedAgainAndMayRunOut) {
  std::vector<std::uint64_t> pools;
  for (std::uint64_t pool = make_pool("crowd"); pool != 0; pool = make_pool("crowd")) pools.push_back(pool);
  EXPECT_GT(pools.size(), trace::kMaxPools - 100);
  EXPECT_LE(pools.size(), trace::kMaxPools);
  pool_alloc(0, made_up(4, 0, 0), 64);  // none: ignored
  const std::uint64_t given_back = pools[pools.size() / 2];
  destroy_pool(given_back);
  destroy_pool(given_back + (std::uint64_t{1} << 16));  // another process' number
  EXPECT_EQ(make_pool("late"), given_back);
  for (const std::uint64_t pool : pools) destroy_pool(pool);
  const Told all = told(getpid());
  EXPECT_EQ(rows_with(all.tables["pools"], "name", "crowd").size(), pools.size());
  EXPECT_EQ(rows_with(all.tables["pools"], "name", "late").size(), 1u);
  EXPECT_TRUE(all.warnings.empty());
}

// The last: later tests would find no names.
TEST_F(RecordedReports, NamesAreCutAndMayRunOut) {
  alloc(made_up(2, 0, 0), 32);
  report(made_up(2, 0, 0), "long/" + std::string(10'000, 'x'));
  for (std::uint32_t i = 0; i < trace::kMaxNames + 100; ++i) report(made_up(2, 0, 0), "many/" + std::to_string(i));
  const Told all = told(getpid());
  EXPECT_EQ(all.names.size(), trace::kMaxNames);
  const Table& reports = all.tables["reports"];
  const auto rows = rows_with(reports, "path", "long/");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(reports["path"].text(rows[0]).size(), trace::kMaxNameBytes);
  std::size_t said = 0, nameless = 0;
  for (std::size_t row = 0; row < reports.rows(); ++row) {
    if (reports["address"].ints[row] != static_cast<std::int64_t>(made_up(2, 0, 0))) continue;
    ++said;
    nameless += reports["path"].is_null(row) || reports["path"].text(row).empty();
  }
  EXPECT_EQ(said, trace::kMaxNames + 101);  // every report is there, if not every name
  EXPECT_GE(nameless, 101u);
  EXPECT_LE(nameless, 400u);
}

}  // namespace
}  // namespace tare::recorder
