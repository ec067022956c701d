// Sums of table site_sizes by stack and by sample, on a few rows made by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/recording/stacks/sample_sums.h"
#include "core/recording/stacks/stack_sums.h"

namespace tare::core {
namespace {

using Numbers = std::vector<std::int64_t>;

Column ints(const std::string& name, Numbers values) {
  Column column;
  column.name = name;
  column.ints = std::move(values);
  return column;
}

Column doubles(const std::string& name, std::vector<double> values) {
  Column column;
  column.name = name;
  column.type = ColumnType::Double;
  column.doubles = std::move(values);
  return column;
}

// Stack 7 has two shapes of 24 usable bytes and one of 40; stack 3 has an inherited one.
Table sizes() {
  Table table;
  table.name = "site_sizes";
  table.columns = {ints("size_id", {0, 1, 2, 3}),          ints("stack_id", {7, 7, 7, 3}),
                   ints("usable_bytes", {24, 40, 24, 56}), ints("header_bytes", {8, 8, 8, 8}),
                   doubles("weight", {1, 1, 1, 1}),        ints("total_blocks", {10, 2, 5, 0}),
                   ints("peak_blocks", {4, 0, 3, 6}),      ints("end_blocks", {1, 0, 0, 6}),
                   ints("inherited", {0, 0, 0, 1}),        doubles("lifetime_ns", {1000.4, 0.5, 2000.4, 9e20})};
  return table;
}

// Shape 0 is of threads 1 and 2; the threads of shape 2 don't add up to it.
Table threads() {
  Table table;
  table.name = "thread_sizes";
  Column thread = ints("thread", {1, 2, 2, 1, 0});
  thread.valid = {1, 1, 1, 1, 0};
  table.columns = {ints("size_id", {0, 0, 1, 2, 3}), thread, doubles("total_blocks", {6, 4, 2, 4, 0}),
                   doubles("peak_blocks", {4, 0, 0, 3, 6}), doubles("end_blocks", {0, 1, 0, 0, 6})};
  return table;
}

TEST(StackSums, AreOfAllSizes) {
  const std::optional<StackSums> sums = sums_by_stack(sizes(), "peak_blocks", true);
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->stack_ids, (Numbers{3, 7}));
  EXPECT_EQ(sums->total_blocks, (Numbers{0, 17}));
  EXPECT_EQ(sums->total_bytes, (Numbers{0, 15 * 32 + 2 * 48}));
  EXPECT_EQ(sums->live_blocks, (Numbers{6, 7}));
  EXPECT_EQ(sums->live_bytes, (Numbers{6 * 64, 7 * 32}));
  EXPECT_EQ(sums->end_blocks, (Numbers{6, 1}));
  EXPECT_EQ(sums->end_bytes, (Numbers{6 * 64, 32}));
  // Rounded a size, to the even number: 3000.8 and 0.5. What doesn't fit is the greatest.
  EXPECT_EQ(sums->lifetimes_ns, (Numbers{9'000'000'000'000'000'000, 3001}));
}

TEST(StackSums, NotOfSamples) {
  Table sampled = sizes();
  sampled.columns[4].doubles[1] = 2.5;
  EXPECT_FALSE(sums_by_stack(sampled, "peak_blocks", false));
  EXPECT_FALSE(sums_by_sample(sampled, {"peak_blocks"}, {}));
}

TEST(SampleSums, BySizeAndThread) {
  const Table of_threads = threads();
  // 3: unknown, as is what the threads of shape 2 would have. The claim of 24 bytes has several threads.
  const std::vector<SampleTare> tare = {{7, 40, 100}, {7, 24, 50}, {9, 8, 1}};
  const std::optional<SampleSums> sums = sums_by_sample(sizes(), {"peak_blocks", &of_threads}, tare);
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->stack_ids, (Numbers{3, 7, 7, 7, 7, 9}));
  EXPECT_EQ(sums->usable_bytes, (Numbers{56, 24, 24, 24, 40, 8}));
  EXPECT_EQ(sums->threads, (Numbers{-1, 1, 2, -1, 2, -1}));
  EXPECT_EQ(sums->total_blocks, (Numbers{0, 6, 4, 5, 2, 0}));
  EXPECT_EQ(sums->total_bytes, (Numbers{0, 192, 128, 160, 96, 0}));
  EXPECT_EQ(sums->live_blocks, (Numbers{6, 4, 0, 3, 0, 0}));
  EXPECT_EQ(sums->live_bytes, (Numbers{384, 128, 0, 96, 0, 0}));
  EXPECT_EQ(sums->tare_bytes, (Numbers{0, 0, 0, 50, 100, 1}));
}

TEST(SampleSums, OfOneThread) {
  const std::optional<SampleSums> sums = sums_by_sample(sizes(), {"end_blocks", nullptr, 0, false}, {});
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->stack_ids, (Numbers{3, 7}));
  EXPECT_EQ(sums->usable_bytes, (Numbers{0, 0}));
  EXPECT_EQ(sums->threads, (Numbers{-1, 0}));  // inherited blocks may be of others
  EXPECT_EQ(sums->total_blocks, (Numbers{0, 17}));
  EXPECT_EQ(sums->live_bytes, (Numbers{384, 32}));
}

}  // namespace
}  // namespace tare::core
