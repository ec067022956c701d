// Sizes of twins, apart and joined, calculated by hand.
#include "core/recording/twin_pairs.h"

#include <gtest/gtest.h>

#include "made_up_tables.h"

namespace tare::core {
namespace {

Table twins_of(std::int64_t first, std::int64_t second) {
  TableBuilder table("twins");
  table.add(table.column("first_size_id", ColumnType::Int64), first);
  table.add(table.column("second_size_id", ColumnType::Int64), second);
  return table.take();
}

TEST(TwinPairs, SaveAHeaderAndWhatBothWereRoundedUp) {
  const Table sizes = site_sizes_of({{1, 20, 24, 9}, {2, 17, 24, 9}});
  const Table table = twin_pairs_table(twins_of(0, 1), sizes, &size_models::glibc);
  EXPECT_EQ(table["apart_gross_bytes"].ints[0], 64);   // 24 + 8, twice
  EXPECT_EQ(table["joined_bytes"].ints[0], 24 + 17);   // the first padded, so that the second is aligned
  EXPECT_EQ(table["joined_gross_bytes"].ints[0], 64);  // 41 + 8, to 16: nothing is saved
  const Table other =
      twin_pairs_table(twins_of(1, 0), site_sizes_of({{1, 16, 24, 9}, {2, 16, 24, 9}}), &size_models::glibc);
  EXPECT_EQ(other["joined_gross_bytes"].ints[0], 48);
}

TEST(TwinPairs, KnowNothingWithoutAModelOrOfUnknownShapes) {
  const Table sizes = site_sizes_of({{1, 20, 24, 9}, {2, 17, 24, 9}});
  const Table unmodelled = twin_pairs_table(twins_of(0, 1), sizes, nullptr);
  EXPECT_EQ(unmodelled["apart_gross_bytes"].ints[0], 64);
  EXPECT_TRUE(unmodelled["joined_gross_bytes"].is_null(0));
  EXPECT_TRUE(twin_pairs_table(twins_of(0, 7), sizes, &size_models::glibc)["apart_gross_bytes"].is_null(0));
}

}  // namespace
}  // namespace tare::core
