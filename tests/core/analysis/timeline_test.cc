// Timeline buckets and the set of mapped ranges.
#include "core/analysis/timeline.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/mappings/mappings.h"
#include "support/made_up_trace.h"

namespace tare::core {
namespace {

TimelineRow row_at(std::uint64_t stamp, std::uint64_t gross_q) {
  TimelineRow row;
  row.last_stamp = stamp;
  row.gross_q = row.max_gross_q = gross_q;
  return row;
}

TEST(Timeline, StaysSmallAndKeepsMaximaAndTheEnd) {
  Timeline timeline(1000);
  std::mt19937_64 random(1);
  std::uint64_t stamp = 1000;
  std::uint64_t greatest = 0;
  std::uint64_t last = 0;
  for (int i = 0; i < 200'000; ++i) {
    stamp += random() % 10'000;
    last = random() % 1'000'000;
    greatest = std::max(greatest, last);
    timeline.add(row_at(stamp, last));
    ASSERT_LE(timeline.rows().size(), Timeline::kMostRows);
  }
  EXPECT_GT(timeline.rows().size(), Timeline::kMostRows / 4);
  EXPECT_EQ(timeline.rows().back().last_stamp, stamp);
  EXPECT_EQ(timeline.rows().back().gross_q, last);
  std::uint64_t kept = 0;
  for (std::size_t i = 0; i < timeline.rows().size(); ++i) {
    kept = std::max(kept, timeline.rows()[i].max_gross_q);
    if (i == 0) continue;
    EXPECT_LT(timeline.rows()[i - 1].last_stamp, timeline.rows()[i].last_stamp);
  }
  EXPECT_EQ(kept, greatest);
}

TEST(Timeline, HugeGapsEndToo) {
  Timeline timeline(0);
  for (std::uint64_t i = 0; i < 5000; ++i)
    timeline.add(row_at(i < 2500 ? i * 4096 : (1ull << 63) + i * (1ull << 40), i));
  EXPECT_LE(timeline.rows().size(), Timeline::kMostRows);
  EXPECT_EQ(timeline.rows().back().gross_q, 4999u);
}

TEST(Timeline, ALongReplayHasAtMost1024Rows) {
  MadeUpTrace made;
  const auto shape = made.shape(made.stack(0x2000), 24);
  made.step = 3000;
  for (std::uint64_t i = 0; i < 50'000; ++i) made.alloc(0x10010 + i * 32, shape);
  const Tables tables = made.replay();
  const Table& timeline = tables["timeline"];
  EXPECT_LE(timeline.rows(), Timeline::kMostRows);
  EXPECT_GE(timeline.rows(), Timeline::kMostRows / 2);
  std::int64_t allocs = 0;
  for (std::size_t i = 0; i < timeline.rows(); ++i) {
    allocs += timeline["alloc_events"].ints[i];
    EXPECT_EQ(timeline["blocks"].ints[i], allocs);
    EXPECT_EQ(timeline["gross_bytes"].ints[i], allocs * 32);
  }
  EXPECT_EQ(allocs, 50'000);
}

TEST(Mappings, AgreesWithASetOfPages) {
  std::mt19937 random(3);
  Mappings mappings;
  std::set<std::uint64_t> pages;
  std::uint64_t peak = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t start = random() % 300;
    const std::uint64_t length = random() % 40;
    if (random() % 2) {
      mappings.map(start * 4096, length * 4096);
      for (std::uint64_t page = start; page < start + length; ++page) pages.insert(page);
    } else {
      mappings.unmap(start * 4096, length * 4096);
      for (std::uint64_t page = start; page < start + length; ++page) pages.erase(page);
    }
    peak = std::max<std::uint64_t>(peak, pages.size());
    ASSERT_EQ(mappings.bytes(), pages.size() * 4096);
  }
  EXPECT_EQ(mappings.peak_bytes(), peak * 4096);
}

TEST(Mappings, RangesUpToTheEndOfMemory) {
  Mappings mappings;
  mappings.map(~0ull - 4095, ~0ull);
  EXPECT_EQ(mappings.bytes(), 4095u);
  mappings.unmap(0, ~0ull);
  EXPECT_EQ(mappings.bytes(), 0u);
}

}  // namespace
}  // namespace tare::core
