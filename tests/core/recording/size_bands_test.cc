// Joined sizes add up to what they were, and leave alone what a finding names.
#include "core/recording/size_bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "made_up_tables.h"

namespace tare::core {
namespace {

double product_sum(const Table& table, const char* size, const char* count) {
  double sum = 0;
  const Column& sizes = table[size];
  const Column& counts = table[count];
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double bytes = sizes.type == ColumnType::Double ? sizes.doubles[row] : static_cast<double>(sizes.ints[row]);
    sum += bytes * static_cast<double>(counts.ints[row]) * table["weight"].doubles[row];
  }
  return sum;
}

// 2,000 sizes of stack 1, every seventh of them live at the peak: one of 720 bytes is asked for most.
std::vector<MadeUpShape> many_sizes() {
  std::vector<MadeUpShape> shapes;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t bytes = 8 + i;
    const std::int64_t usable = (bytes + 8 + 15) / 16 * 16 - 8;
    shapes.push_back({.stack = 1,
                      .requested_bytes = bytes,
                      .usable_bytes = usable,
                      .total_blocks = bytes == 720 ? 900 : 1 + i % 9,
                      .peak_blocks = i % 7 == 0 ? 1 + i % 2 : 0});
  }
  return shapes;
}

TEST(SizeBands, KeepEverySumOfALine) {
  std::vector<MadeUpShape> shapes = many_sizes();
  for (MadeUpShape shape : many_sizes()) {
    shape.stack = 2;
    shape.weight = 2.5;
    shapes.push_back(shape);
  }
  const Table whole = site_sizes_of(shapes);
  const Table joined = join_sizes(whole, &size_models::glibc);
  EXPECT_LT(joined.rows(), 400u);
  for (const char* size : {"requested_bytes", "usable_bytes", "header_bytes"}) {
    for (const char* count : {"peak_blocks", "total_blocks"}) {
      const double exact = product_sum(whole, size, count);
      EXPECT_NEAR(product_sum(joined, size, count), exact, 1e-9 * exact) << size << " x " << count;
    }
  }
  double byte_ns = 0;
  for (const double value : joined["byte_ns"].doubles) byte_ns += value;
  double exact_byte_ns = 0;
  for (const double value : whole["byte_ns"].doubles) exact_byte_ns += value;
  EXPECT_DOUBLE_EQ(byte_ns, exact_byte_ns);
}

TEST(SizeBands, LeaveTheGreatestOfALineAlone) {
  const Table joined = join_sizes(site_sizes_of(many_sizes()), &size_models::glibc);
  const std::vector<double>& requested = joined["requested_bytes"].doubles;
  const std::vector<std::int64_t>& total = joined["total_blocks"].ints;
  std::map<double, std::int64_t> blocks_of;
  for (std::size_t row = 0; row < joined.rows(); ++row) blocks_of[requested[row]] += total[row];
  EXPECT_EQ(blocks_of.at(720), 900);
  EXPECT_EQ(requested[0], 720);
  EXPECT_EQ(blocks_of.rbegin()->first, 2007);
  for (std::size_t row = 1; row < joined.rows(); ++row) EXPECT_LT(total[row], 900);
}

TEST(SizeBands, TellSmallBlocksApartInSteps) {
  const Table whole = site_sizes_of(many_sizes());
  const Table joined = join_sizes(whole, &size_models::glibc);
  const auto within = [](const Table& table, std::int64_t bytes) {
    std::int64_t blocks = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const Column& size = table["requested_bytes"];
      const bool fits =
          size.type == ColumnType::Double ? size.doubles[row] <= static_cast<double>(bytes) : size.ints[row] <= bytes;
      if (fits) blocks += table["total_blocks"].ints[row];
    }
    return blocks;
  };
  for (const std::int64_t bytes : {16, 32, 48, 64}) EXPECT_EQ(within(joined, bytes), within(whole, bytes)) << bytes;
}

TEST(SizeBands, KeepClownshoesWhole) {
  std::vector<MadeUpShape> shapes;
  for (std::int64_t i = 0; i < 50; ++i) shapes.push_back({1, 1025 + i, 1280, 2, 1});
  const Table joined = join_sizes(site_sizes_of(shapes), &size_models::jemalloc);
  const std::vector<std::int64_t> sizes = whole_sizes(joined);
  std::size_t clownshoes = 0;
  for (const MadeUpShape& shape : shapes) {
    const bool is_one = is_clownshoe(size_models::jemalloc, static_cast<std::size_t>(shape.requested_bytes));
    clownshoes += is_one ? 1 : 0;
    EXPECT_TRUE(!is_one || std::find(sizes.begin(), sizes.end(), shape.requested_bytes) != sizes.end());
  }
  ASSERT_GT(clownshoes, 10u);
}

TEST(SizeBands, LeaveFewSizesAsTheyWere) {
  const Table whole = site_sizes_of({{1, 24, 24, 10, 1}, {1, 32, 40, 2}, {2, 24, 24, 1, 1}});
  const Table joined = join_sizes(whole, nullptr);
  EXPECT_EQ(joined["requested_bytes"].doubles, (std::vector<double>{24, 32, 24}));
  EXPECT_EQ(joined["total_blocks"].ints, whole["total_blocks"].ints);
  EXPECT_EQ(joined["peak_blocks"].ints, whole["peak_blocks"].ints);
  EXPECT_TRUE(joined["at_blocks"].is_null(0));
  EXPECT_EQ(join_sizes(site_sizes_of({}), nullptr).rows(), 0u);
}

}  // namespace
}  // namespace tare::core
