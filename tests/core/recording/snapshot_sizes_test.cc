// Sums of live blocks, counted by hand.
#include "core/recording/snapshot_sizes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tare::core {
namespace {

struct Seen {
  std::int64_t moment, address, shape, requested;
  std::optional<std::int64_t> digest = std::nullopt;
  std::int32_t content_class = 1;  // text
  std::int64_t pointers = 0;
  std::optional<std::int64_t> leak_root = std::nullopt;
  std::optional<std::int64_t> high_water = std::nullopt;
  std::optional<std::int64_t> last_write = std::nullopt;
  double weight = 1;
};

Table snapshot_blocks(const std::vector<Seen>& blocks) {
  TableBuilder table("snapshot_blocks");
  const auto column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto moment = column("snapshot"), address = column("address"), shape = column("size_id"),
             stack = column("stack_id"), requested = column("requested_bytes"), usable = column("usable_bytes"),
             header = column("header_bytes"), digest = column("digest"), starts = column("start_pointers"),
             interiors = column("interior_pointers"), leak_root = column("leak_root"),
             last_write = column("last_write_ns"), high_water = column("high_water_bytes");
  const auto weight = table.column("weight", ColumnType::Double);
  const auto content_class = table.column("content_class", {"zeros", "text", "other"});
  const auto reachable = table.column("reachable", {"no", "interior", "start", "suppressed"});
  for (const Seen& block : blocks) {
    table.add(moment, block.moment);
    table.add(address, block.address);
    table.add(shape, block.shape);
    table.add(stack, 100 + block.shape);
    table.add(requested, block.requested);
    table.add(usable, block.requested + 8);
    table.add(header, std::int64_t{8});
    table.add(digest, block.digest);
    table.add(starts, block.digest ? std::optional(block.pointers) : std::nullopt);
    table.add(interiors, block.digest ? std::optional<std::int64_t>(0) : std::nullopt);
    table.add(leak_root, block.leak_root);
    table.add(last_write, block.last_write);
    table.add(high_water, block.high_water);
    table.add(weight, block.weight);
    if (block.digest) {
      table.add_code(content_class, block.content_class);
    } else {
      table.add_null(content_class);
    }
    table.add_code(reachable, block.leak_root ? 0 : 2);
  }
  return table.take();
}

using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;

TEST(SnapshotSizes, CountsBlocksThatAreAlike) {
  const Table table = snapshot_sizes_table(
      snapshot_blocks({{.moment = 1, .address = 16, .shape = 0, .requested = 40, .digest = 1, .weight = 2},
                       {.moment = 1, .address = 64, .shape = 1, .requested = 24, .digest = 2},
                       {.moment = 1, .address = 96, .shape = 0, .requested = 40, .digest = 3, .weight = 3},
                       {.moment = 2, .address = 16, .shape = 0, .requested = 40, .digest = 1}}));
  EXPECT_EQ(table["snapshot"].ints, (Ints{1, 1, 2}));
  EXPECT_EQ(table["size_id"].ints, (Ints{0, 1, 0}));
  EXPECT_EQ(table["stack_id"].ints, (Ints{100, 101, 100}));
  EXPECT_EQ(table["usable_bytes"].ints, (Ints{48, 32, 48}));
  EXPECT_EQ(table["blocks"].doubles, (Doubles{5, 1, 1}));
  EXPECT_EQ(table["copies"].doubles, (Doubles{0, 0, 0}));
  EXPECT_EQ(table["content_class"].text(0), "text");
}

TEST(SnapshotSizes, CountsContentsOfOneMomentAlsoAcrossShapes) {
  const Table table = snapshot_sizes_table(snapshot_blocks({{1, 16, 0, 40, 7},
                                                            {1, 64, 1, 40, 7},
                                                            {1, 96, 0, 40, 8},
                                                            {1, 128, 0, 40, 7},
                                                            {1, 160, 0, 48, 7},    // another length
                                                            {2, 16, 0, 40, 7}}));  // another moment
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_EQ(table["copies"].doubles, (Doubles{2, 1, 0}));
  EXPECT_DOUBLE_EQ(table["contents"].doubles[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(table["contents"].doubles[1], 1.0 / 3);
}

TEST(SnapshotSizes, LooksForNoCopiesOfWhatMayNotBeShared) {
  const Table table = snapshot_sizes_table(snapshot_blocks({{1, 16, 0, 40},
                                                            {1, 64, 0, 40},  // unread
                                                            {1, 128, 1, 40, 7, 0},
                                                            {1, 192, 1, 40, 7, 0},  // zeros
                                                            {1, 256, 2, 40, 7, 2, 1},
                                                            {1, 320, 2, 40, 7, 2, 1},  // pointers
                                                            {1, 384, 3, 0, 7},
                                                            {1, 416, 3, 0, 7}}));  // empty
  EXPECT_EQ(table["blocks"].doubles, (Doubles{2, 2, 2, 2}));
  EXPECT_EQ(table["copies"].doubles, (Doubles{0, 0, 0, 0}));
  EXPECT_TRUE(table["content_class"].is_null(0));
}

TEST(SnapshotSizes, TellsLeaksByTheStackOfTheirRoot) {
  const Table table = snapshot_sizes_table(
      snapshot_blocks({{.moment = 1, .address = 16, .shape = 0, .requested = 40},
                       {.moment = 1, .address = 64, .shape = 0, .requested = 40, .leak_root = 128},
                       {.moment = 1, .address = 128, .shape = 1, .requested = 24, .leak_root = 128},
                       {.moment = 1, .address = 160, .shape = 0, .requested = 40, .leak_root = 160},
                       {.moment = 1, .address = 224, .shape = 0, .requested = 40, .leak_root = 999}}));
  EXPECT_EQ(table["size_id"].ints, (Ints{0, 0, 1, 0, 0}));
  EXPECT_TRUE(table["leak_stack_id"].is_null(0));
  EXPECT_EQ(table["leak_stack_id"].ints[1], 101);
  EXPECT_EQ(table["leak_stack_id"].ints[2], 101);
  EXPECT_EQ(table["leak_stack_id"].ints[3], 100);
  EXPECT_TRUE(table["leak_stack_id"].is_null(4));  // a damaged trace: no such block
  EXPECT_EQ(table["leak_roots"].doubles, (Doubles{0, 0, 1, 1, 0}));
}

TEST(SnapshotSizes, AddsUpWhatLiesBehindMarks) {
  const Table table = snapshot_sizes_table(
      snapshot_blocks({{.moment = 1, .address = 16, .shape = 0, .requested = 40, .high_water = 30},
                       {.moment = 1, .address = 64, .shape = 0, .requested = 40, .high_water = 0},
                       {.moment = 1, .address = 128, .shape = 0, .requested = 40, .high_water = 5, .weight = 2},
                       {.moment = 1, .address = 192, .shape = 0, .requested = 40}}));
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table["written_blocks"].doubles[0], 3);
  EXPECT_EQ(table["unwritten_bytes"].doubles[0], 10 + 2 * 35);
}

TEST(SnapshotSizes, KeepsTimesApart) {
  const Table table =
      snapshot_sizes_table(snapshot_blocks({{.moment = 1, .address = 16, .shape = 0, .requested = 40, .last_write = 5},
                                            {.moment = 1, .address = 64, .shape = 0, .requested = 40, .last_write = 9},
                                            {.moment = 1, .address = 128, .shape = 0, .requested = 40, .last_write = 5},
                                            {.moment = 1, .address = 192, .shape = 0, .requested = 40}}));
  EXPECT_EQ(table["blocks"].doubles, (Doubles{2, 1, 1}));
  EXPECT_EQ(table["last_write_ns"].ints[1], 9);
  EXPECT_TRUE(table["last_write_ns"].is_null(2));
}

TEST(SnapshotSizes, TakeAnEmptyRecording) { EXPECT_EQ(snapshot_sizes_table(snapshot_blocks({})).rows(), 0u); }

}  // namespace
}  // namespace tare::core
