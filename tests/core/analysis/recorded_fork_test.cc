// A forked child, recorded: what it inherits is what its parent had, and what it frees of that is known.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/heavy_tables/blocks.h"
#include "core/launcher/launcher.h"
#include "core/tables/replay.h"
#include "support/temp_dir.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

std::int64_t blocks_of(const Tables& tables, std::int64_t requested_bytes, std::int64_t inherited, const char* count) {
  const Table& sizes = tables["site_sizes"];
  std::int64_t blocks = 0;
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    if (sizes["requested_bytes"].ints[row] != requested_bytes || sizes["inherited"].ints[row] != inherited) continue;
    blocks += sizes[count].ints[row];
  }
  return blocks;
}

TEST(RecordedFork, TheChildInheritsWhatWasLiveAtTheFork) {
  const test::TempDir temp;
  LaunchOptions options;
  options.command = {FORKING_PROGRAM};
  options.output = temp / "parent.tare";
  options.recorder_library = RECORDER_LIBRARY;
  const auto outcome = launch(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->images.size(), 2u);

  const auto parent = trace::open_trace(outcome->images[0].path);
  const auto child = trace::open_trace(outcome->images[1].path);
  ASSERT_TRUE(parent);
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->info().fork);
  EXPECT_EQ(child->info().fork->parent_pid, parent->info().pid);

  LiveSetAtFork at_fork(parent->dictionary(), *child->info().fork);
  ASSERT_TRUE(parent->replay_into(at_fork));
  EXPECT_TRUE(at_fork.taken());
  const LiveSet inherited = at_fork.take();

  Replay replay(child->dictionary(), child->info());
  replay.inherit(inherited);
  ASSERT_TRUE(child->replay_into(replay));
  const Tables tables = replay.finish(child->clock_pairs());
  EXPECT_EQ(blocks_of(tables, 1000, 1, "peak_blocks"), 1000);
  EXPECT_EQ(blocks_of(tables, 1000, 1, "end_blocks"), 600);
  EXPECT_LE(blocks_of(tables, 333, 1, "peak_blocks"), 10) << "of the other thread, whatever it had at that instant";
  EXPECT_EQ(blocks_of(tables, 2000, 0, "end_blocks"), 10);
  EXPECT_EQ(blocks_of(tables, 1000, 0, "total_blocks"), 0);
  const Table& process = tables["process"];
  EXPECT_EQ(process["impossible_events"].ints[0], 0);
  EXPECT_EQ(process["pre_existing_frees"].ints[0], 0);
  EXPECT_EQ(process["inherited_blocks"].ints[0], static_cast<std::int64_t>(inherited.blocks.size()));
  EXPECT_EQ(process["total_blocks"].ints[0], process["alloc_events"].ints[0]);

  std::int64_t rows = 0;
  std::int64_t inherited_rows = 0;
  BlockStream blocks(
      child->dictionary(), child->info(), child->clock_pairs(),
      [&](const Table& batch) {
        rows += static_cast<std::int64_t>(batch.rows());
        for (const std::int64_t is_inherited : batch["inherited"].ints) inherited_rows += is_inherited;
        return ok();
      },
      &inherited);
  ASSERT_TRUE(child->replay_into(blocks));
  ASSERT_TRUE(blocks.finish());
  EXPECT_EQ(inherited_rows, static_cast<std::int64_t>(inherited.blocks.size()));
  EXPECT_EQ(rows - inherited_rows, process["total_blocks"].ints[0]);
}

}  // namespace
}  // namespace tare::core
