// Contents of ended blocks, on made-up traces small enough to count by hand.
#include "core/analysis/contents/content_sums.h"

#include <gtest/gtest.h>

#include "support/seen_trace.h"

namespace tare::core {
namespace {

using trace::ContentClass;

double value(const Table& table, const char* column, std::size_t row) {
  const Column& found = table[column];
  return found.type == ColumnType::Int64 ? static_cast<double>(found.ints.at(row)) : found.doubles.at(row);
}

TEST(ContentSums, CountsBlocksThatTellNothingAsWrittenToTheirEnd) {
  SeenTrace trace;
  const auto one = trace.shape(trace.stack(0x1), 4064);
  const auto other = trace.shape(trace.stack(0x2), 100);
  trace.brief(0x10000, one, 4048);
  trace.brief(0x20000, one, 4064);
  trace.brief(0x30000, one, 4000);
  trace.brief(0x100, other, 40);
  trace.alloc(0x200, other);
  trace.free(0x200);  // written to its end
  const Tables tables = trace.replay();
  const Table& written = tables["written"];
  ASSERT_EQ(written.rows(), 2u);
  const std::size_t a = row_where(written, "size_id", 0), b = row_where(written, "size_id", 1);
  EXPECT_EQ(value(written, "ended_blocks", a), 3);
  EXPECT_EQ(value(written, "partly_blocks", a), 3);
  EXPECT_EQ(value(written, "max_high_water_bytes", a), 64);
  EXPECT_EQ(value(written, "unwritten_total_bytes", a), 4048 + 4064 + 4000);
  EXPECT_EQ(value(written, "within_0", a), 1);
  EXPECT_EQ(value(written, "within_16", a), 1);
  EXPECT_EQ(value(written, "within_64", a), 1);
  EXPECT_EQ(value(written, "ended_blocks", b), 2);
  EXPECT_EQ(value(written, "partly_blocks", b), 1);
  EXPECT_EQ(value(written, "max_high_water_bytes", b), 100);
  EXPECT_EQ(value(written, "within_64", b), 1);
  EXPECT_EQ(value(written, "within_128", b), 1);
}

TEST(ContentSums, AddsUpShapesWhoseBlocksWereWrittenEquallyFarAndOthers) {
  SeenTrace trace;
  const auto even = trace.shape(trace.stack(0x1), 9000), uneven = trace.shape(trace.stack(0x2), 9000);
  for (int i = 0; i < 3; ++i) {
    trace.alloc(0x10000 + 0x10000 * static_cast<std::uint64_t>(i), even);
    trace.alloc(0x50000 + 0x10000 * static_cast<std::uint64_t>(i), uneven);
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (const auto& [base, unwritten] : {std::pair{0x10000u, 8990u}, {0x50000u, 8990 - 4000 * i}}) {
      trace.contents(base + 0x10000 * i, unwritten);
      trace.free(base + 0x10000 * i);
    }
  }
  trace.brief(0x10000, uneven, 8990);
  const Tables tables = trace.replay();
  const Table& written = tables["written"];
  ASSERT_EQ(written.rows(), 2u);
  const std::size_t a = row_where(written, "size_id", 0), b = row_where(written, "size_id", 1);
  EXPECT_EQ(value(written, "partly_blocks", a), 3);
  EXPECT_EQ(value(written, "max_high_water_bytes", a), 10);
  EXPECT_EQ(value(written, "unwritten_peak_bytes", a), 3 * 8990);
  EXPECT_EQ(value(written, "unwritten_total_bytes", a), 3 * 8990);
  const auto pages = [](double bytes) { return (bytes - 4080) / 4096; };
  EXPECT_EQ(value(written, "unwritten_pages", a), 3 * pages(8990));
  EXPECT_EQ(value(written, "within_16", a), 3);
  EXPECT_EQ(value(written, "partly_blocks", b), 4);
  EXPECT_EQ(value(written, "max_high_water_bytes", b), 8010);
  EXPECT_EQ(value(written, "unwritten_peak_bytes", b), 8990 + 4990 + 990);
  EXPECT_EQ(value(written, "unwritten_total_bytes", b), 2 * 8990 + 4990 + 990);
  EXPECT_EQ(value(written, "unwritten_pages", b), 2 * pages(8990) + pages(4990));
  EXPECT_EQ(value(written, "within_16", b), 2);
  EXPECT_EQ(value(written, "within_4096", b), 1);
  EXPECT_EQ(value(written, "within_more", b), 1);
}

TEST(ContentSums, ClaimsAtThePeakOnlyWhatLivedThen) {
  SeenTrace trace;
  const auto shape = trace.shape(trace.stack(0x1), 10000);
  const auto big = trace.shape(trace.stack(0x2), 1'000'000);
  trace.brief(0x10000, shape, 9000);  // gone before the peak, and the peak of its time
  trace.alloc(0x20000, shape);
  trace.alloc(0x30000, shape);
  trace.alloc(0x1000000, big);  // the peak
  trace.contents(0x20000, 5000);
  trace.free(0x20000);
  trace.free(0x1000000);
  trace.contents(0x30000, 700);
  trace.free(0x30000);
  trace.brief(0x40000, shape, 30);  // came later
  const Tables tables = trace.replay();
  const Table& written = tables["written"];
  ASSERT_EQ(written.rows(), 1u);
  EXPECT_EQ(value(written, "unwritten_peak_bytes", 0), 5700);
  EXPECT_EQ(value(written, "unwritten_total_bytes", 0), 9000 + 5700 + 30);
  EXPECT_EQ(value(written, "unwritten_pages", 0), (9000 + 5000 - 2 * 4080) / 4096.0);
}

TEST(ContentSums, LargeBlocksAreMappedApart) {
  SeenTrace trace;
  const auto shape = trace.shape(trace.stack(0x1), 131'591);
  trace.alloc(0x10010, shape);
  trace.contents(0x10010, 131'591);  // nothing is written: the first page has the header
  trace.free(0x10010);
  EXPECT_EQ(value(trace.replay()["written"], "unwritten_pages", 0), (16 + 131'591 - 4096) / 4096.0);
}

// 4,096 unwritten bytes cover a whole page only where the page begins with them.
TEST(ContentSums, APageIsUnwrittenIfNoOtherBytesAreOnIt) {
  SeenTrace trace;
  const auto shape = trace.shape(trace.stack(0x1), 4097);
  for (std::uint64_t i = 0; i < 256; ++i) {
    trace.alloc(0x10000 + i * 4112, shape);
    trace.contents(0x10000 + i * 4112, 4096);
    trace.free(0x10000 + i * 4112);
  }
  EXPECT_EQ(value(trace.replay()["written"], "unwritten_pages", 0), 1);
}

TEST(ContentSums, FollowsBlocksThatGrew) {
  SeenTrace trace;
  const auto small = trace.shape(trace.stack(0x1), 64), large = trace.shape(trace.stack(0x1), 128);
  trace.alloc(0x100, small);
  trace.contents(0x100, 10);
  trace.realloc(0x100, 0x200, large);
  trace.contents(0x200, 20);
  trace.free(0x200);
  trace.contents(0x900, 5);  // of a block older than the recording: nothing is known of it
  trace.digest(77);
  trace.free(0x900);
  const Tables tables = trace.replay();
  ASSERT_EQ(tables["written"].rows(), 2u);
  EXPECT_EQ(value(tables["written"], "max_high_water_bytes", row_where(tables["written"], "requested_bytes", 64)), 54);
  EXPECT_EQ(value(tables["written"], "max_high_water_bytes", row_where(tables["written"], "requested_bytes", 128)),
            108);
  EXPECT_EQ(tables["recreated"].rows(), 0u);
}

TEST(ContentSums, WeighsSampledBlocks) {
  SeenTrace trace;
  trace.info.sample_bytes = 4096;
  const auto shape = trace.shape(trace.stack(0x1), 1000, 1000, 4.0);
  trace.brief(0x1000, shape, 500);
  trace.alloc(0x2000, shape);
  trace.free(0x2000);
  const Table written = trace.replay()["written"];
  EXPECT_EQ(value(written, "ended_blocks", 0), 8);
  EXPECT_EQ(value(written, "partly_blocks", 0), 4);
  EXPECT_EQ(value(written, "unwritten_total_bytes", 0), 2000);
}

TEST(ContentSums, CountsWhatComesAgainByStack) {
  SeenTrace trace;
  const auto a = trace.shape(trace.stack(0x1), 24), b = trace.shape(trace.stack(0x2), 24);
  const auto again = [&](trace::ShapeId shape, std::uint64_t value) {
    trace.alloc(0x100, shape);
    trace.contents(0x100, 0, ContentClass::Text);
    trace.digest(value);
    trace.free(0x100);
  };
  for (int i = 0; i < 3; ++i) again(a, 1);
  again(b, 1);
  for (std::uint64_t i = 10; i < 17; ++i) again(a, i);
  again(a, 1);                                          // still among the last eight
  for (std::uint64_t i = 20; i < 28; ++i) again(a, i);  // eight others
  again(a, 1);
  const Tables tables = trace.replay();
  EXPECT_EQ(tables["written"].rows(), 0u);
  const Table& recreated = tables["recreated"];
  EXPECT_EQ(recreated.rows(), 1u + 1 + 7 + 8);
  const std::size_t row = row_where(recreated, "digest", 1);
  EXPECT_EQ(value(recreated, "stack_id", row), 1);
  EXPECT_EQ(recreated["content_class"].text(row), "text");
  EXPECT_EQ(value(recreated, "times", row), 5);
  EXPECT_EQ(value(recreated, "near_times", row), 3);
  EXPECT_EQ(value(recreated, "bytes", row), 5 * 24);
}

}  // namespace
}  // namespace tare::core
