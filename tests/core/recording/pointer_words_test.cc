// What 4-byte pointers would save, from blocks counted by hand under glibc's model.
#include "core/recording/pointer_words.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tare::core {
namespace {

struct PointedBlock {
  std::int64_t moment, shape, requested;
  std::optional<std::int64_t> starts;
  std::int64_t interiors = 0;
  double weight = 1;
};

Table pointed_blocks(const std::vector<PointedBlock>& blocks) {
  TableBuilder table("snapshot_blocks");
  const auto moment = table.column("snapshot", ColumnType::Int64), shape = table.column("size_id", ColumnType::Int64),
             stack = table.column("stack_id", ColumnType::Int64),
             requested = table.column("requested_bytes", ColumnType::Int64),
             starts = table.column("start_pointers", ColumnType::Int64),
             interiors = table.column("interior_pointers", ColumnType::Int64),
             weight = table.column("weight", ColumnType::Double);
  for (const PointedBlock& block : blocks) {
    table.add(moment, block.moment);
    table.add(shape, block.shape);
    table.add(stack, 100 + block.shape);
    table.add(requested, block.requested);
    table.add(starts, block.starts);
    table.add(interiors, block.starts ? std::optional(block.interiors) : std::nullopt);
    table.add(weight, block.weight);
  }
  return table.take();
}

TEST(PointerWords, TakesTheFullestBlockOfASmallTypeAndTheMeanOfALargeOne) {
  // Three nodes of a tree: the root with two children, and leaves; two tables of 1,024 words, one of them empty.
  const Table table = pointer_words_table(
      pointed_blocks({{1, 0, 40, 2}, {1, 0, 40, 0}, {1, 0, 40, 0}, {1, 1, 8192, 1000}, {1, 1, 8192, 0, 1}}),
      &size_models::glibc);
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table["stack_id"].ints[0], 100);
  EXPECT_EQ(table["blocks"].doubles[0], 3);
  EXPECT_EQ(table["words"].doubles[0], 15);
  EXPECT_EQ(table["start_pointers"].doubles[0], 2);
  EXPECT_EQ(table["fields"].ints[0], 2);
  EXPECT_EQ(table["packed_bytes"].ints[0], 32);        // 40 - 2 * 4
  EXPECT_EQ(table["packed_gross_bytes"].ints[0], 48);  // as before: 40 fits a chunk of 48, and 32 needs one
  EXPECT_EQ(table["max_pointers"].ints[1], 1000);
  EXPECT_EQ(table["interior_pointers"].doubles[1], 1);
  EXPECT_EQ(table["fields"].ints[1], 500);  // 1,001 / 2, down
  EXPECT_EQ(table["packed_bytes"].ints[1], 8192 - 2000);
  EXPECT_EQ(table["packed_gross_bytes"].ints[1], 6208);  // 6,192 and 8, to 16
}

TEST(PointerWords, PadsWhatIsLeftUnlessOnlyPointersWereThere) {
  EXPECT_EQ(packed_bytes(24, 1), 24);  // 20 would break the alignment of the rest
  EXPECT_EQ(packed_bytes(24, 2), 16);
  EXPECT_EQ(packed_bytes(24, 3), 12);  // three pointers, nothing else
  EXPECT_EQ(packed_bytes(24, 0), 24);
  EXPECT_EQ(packed_bytes(13, 1), 13);  // 9, padded to 16, would be more
}

TEST(PointerWords, LeavesOutWhatNobodyLookedAt) {
  const Table table = pointer_words_table(pointed_blocks({{1, 0, 40, std::nullopt}, {2, 0, 40, 1}}), nullptr);
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table["snapshot"].ints[0], 2);
  EXPECT_TRUE(table["packed_gross_bytes"].is_null(0)) << "without a model";
}

TEST(PointerWords, KeepsDamageWithinTheBlock) {
  const Table table = pointer_words_table(pointed_blocks({{1, 0, 16, 4'000'000'000}}), &size_models::glibc);
  EXPECT_EQ(table["fields"].ints[0], 2);
  EXPECT_EQ(table["packed_bytes"].ints[0], 8);
}

}  // namespace
}  // namespace tare::core
