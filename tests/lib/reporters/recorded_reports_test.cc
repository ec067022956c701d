// What the library's pools report of themselves against what the recorder saw of the same program: equal to the byte,
// nothing forgotten, nothing twice.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "core/launcher/launcher.h"
#include "core/recording/recording.h"
#include "support/temp_dir.h"

namespace tare::core {
namespace {

class RecordedReports : public testing::Test {
 protected:
  void SetUp() override {
    LaunchOptions options;
    // The shell's output goes to a file, which it then becomes the program with.
    options.command = {"/bin/sh", "-c", std::string("exec " REPORTING_PROGRAM " > ") + (temp_ / "printed")};
    options.output = temp_ / "t.tare";
    options.recorder_library = RECORDER_LIBRARY;
    const auto outcome = launch(options);
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_EQ(outcome->wait_status, 0);
    std::ifstream printed(temp_ / "printed");
    std::string kind, name;
    std::int64_t bytes = 0;
    while (printed >> kind >> name >> bytes) said_[kind][name] += bytes;
    ASSERT_FALSE(said_["heap"].empty());

    const auto recording = Recording::open(options.output);
    ASSERT_TRUE(recording) << recording.error().message;
    auto made = recording->program_tables({}, {});
    ASSERT_TRUE(made) << made.error().message;
    for (const std::string& warning : made->warnings) ADD_FAILURE() << warning;
    for (const auto& table : made->tables) tables_.put(*table);
    const auto listed = recording->list_blocks(
        [this](Table batch) -> Status {
          for (std::size_t row = 0; row < batch.rows(); ++row) {
            const std::int64_t id = batch["block_id"].ints[row];
            const std::int64_t requested = batch["requested_bytes"].ints[row];
            if (requested == 7777) markers_.push_back(id);
            if (batch["freed_ns"].is_null(row)) live_[id] = requested;
          }
          return ok();
        },
        {});
    ASSERT_TRUE(listed);
    ASSERT_EQ(markers_.size(), 2u);
  }

  std::size_t row_of(const char* pool) {
    const Table& pools = tables_["pools"];
    std::size_t row = 0;
    while (row < pools.rows() && pools["name"].text(row) != pool) ++row;
    EXPECT_LT(row, pools.rows()) << pool;
    return row;
  }

  test::TempDir temp_;
  std::map<std::string, std::map<std::string, std::int64_t>> said_;
  Tables tables_;
  std::map<std::int64_t, std::int64_t> live_;  // requested bytes of blocks alive at the end, by id
  std::vector<std::int64_t> markers_;
};

TEST_F(RecordedReports, EqualTheRecordersToTheByte) {
  EXPECT_TRUE(said_["problem"].empty());
  const Table& reports = tables_["reports"];
  std::map<std::string, std::int64_t> recorded;
  std::set<std::int64_t> reported;
  for (std::size_t row = 0; row < reports.rows(); ++row) {
    EXPECT_FALSE(reports["block_id"].is_null(row)) << reports["path"].text(row);
    EXPECT_EQ(reports["nth"].ints[row], 1) << "twice: " << reports["path"].text(row);
    if (reports["standing"].ints[row] == 0) continue;
    recorded[std::string(reports["path"].text(row))] += reports["usable_bytes"].ints[row];
    reported.insert(reports["block_id"].ints[row]);
  }
  EXPECT_EQ(recorded, said_["heap"]);
  EXPECT_EQ(recorded.size(), 6u);

  // Every block that the pools made is reported: what lies between the markers is theirs.
  const std::int64_t first = std::min(markers_[0], markers_[1]), last = std::max(markers_[0], markers_[1]);
  for (const auto& [id, requested] : live_) {
    if (id > first && id < last) {
      EXPECT_TRUE(reported.contains(id)) << "a block of " << requested << " bytes";
    }
  }
  for (const std::int64_t id : reported) EXPECT_TRUE(id > first && id < last) << id;
}

TEST_F(RecordedReports, OfAToldArenaEveryBlockIsThere) {
  const Table& pools = tables_["pools"];
  const std::size_t row = row_of("told");
  EXPECT_EQ(pools["blocks"].ints[row], 2999);
  auto& told = said_["pool"];
  EXPECT_EQ(pools["memory_bytes"].ints[row], told["told/committed"]);
  // Bytes that alignment skipped are neither in a block nor free.
  std::int64_t asked = 0;
  for (std::int64_t i = 1; i < 3000; ++i) asked += i % 200 + 1;
  EXPECT_EQ(pools["used_bytes"].ints[row], asked);
  const std::int64_t unused = told["told/slack"] + told["told/headers"];
  EXPECT_GE(pools["memory_bytes"].ints[row] - asked, unused);
  EXPECT_LE(pools["memory_bytes"].ints[row] - asked, unused + 2999 * 7);
  // Its chunks are malloc's.
  const Table& memory = tables_["pool_memory"];
  for (std::size_t piece = 0; piece < memory.rows(); ++piece) {
    if (memory["pool_id"].ints[piece] != pools["pool_id"].ints[row]) continue;
    ASSERT_FALSE(memory["heap_block_id"].is_null(piece));
    EXPECT_TRUE(live_.contains(memory["heap_block_id"].ints[piece]));
  }
}

TEST_F(RecordedReports, OfAnAtomTableEveryAtomIsThere) {
  const Table& pools = tables_["pools"];
  const std::size_t row = row_of("AtomTable");
  auto& mapped = said_["mapped"];
  const std::int64_t atoms = mapped["explicit/atoms/atoms/handed-out"] + mapped["explicit/atoms/atoms/unshared"];
  EXPECT_EQ(pools["used_bytes"].ints[row], atoms);
  EXPECT_EQ(pools["total_blocks"].ints[row], 5000);
  EXPECT_EQ(pools["memory_bytes"].ints[row],
            atoms + mapped["explicit/atoms/slack/free"] + mapped["explicit/atoms/slack/unfilled"]);
}

}  // namespace
}  // namespace tare::core
