// Live blocks at the end of each interval, and blocks allocated and freed between, counted block by block.
#include "core/heavy_tables/lifetimes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "core/heavy_tables/blocks.h"
#include "support/made_up_trace.h"

namespace tare::core {
namespace {

constexpr std::int64_t kNull = -1;

// shape, thread, birth, death -> blocks
using Rows = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, double>;

Rows rows_of(const Table& table) {
  Rows rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](const char* name) { return table[name].is_null(row) ? kNull : table[name].ints[row]; };
    const auto [at, fresh] = rows.emplace(
        std::tuple(number("size_id"), number("thread"), number("allocated_interval"), number("freed_interval")),
        table["blocks"].doubles[row]);
    EXPECT_TRUE(fresh) << "one row for each";
  }
  return rows;
}

Tables lives_of(const MadeUpTrace& made, const std::vector<std::uint64_t>& ends, const LiveSet* inherited = nullptr) {
  const auto clock = made.clock();
  Lifetimes lifetimes(made.dictionary, made.info, clock, ends, inherited);
  lifetimes.consume(made.events);
  return lifetimes.finish();
}

TEST(Lifetimes, ABlockBelongsToTheIntervalsOfItsEvents) {
  MadeUpTrace made;
  made.step = 100;
  const auto small = made.shape(made.stack(0x2000), 20);
  const auto large = made.shape(made.stack(0x3000), 4000);
  made.alloc(0x10010, small);             // 100 ns
  made.alloc(0x20010, small);             // 200
  made.alloc(0x30010, large, 7);          // 300
  made.free(0x10010, 7);                  // 400: by another thread
  made.realloc(0x20010, 0x20010, large);  // 500, 600
  const Tables tables = lives_of(made, {200, 300, 1000});
  const Rows expected{{{0, 0, 0, 2}, 2}, {{1, 7, 1, kNull}, 1}, {{1, 0, 2, kNull}, 1}};
  EXPECT_EQ(rows_of(tables["lifetimes"]), expected) << "an event at the end of an interval is inside";
  EXPECT_EQ(tables["intervals"]["end_ns"].ints, (std::vector<std::int64_t>{200, 300, 1000}));
  const Table& lives = tables["lifetimes"];
  EXPECT_EQ(lives["requested_bytes"].ints.front(), 20);
  EXPECT_EQ(lives["usable_bytes"].ints.front(), 24);
  EXPECT_EQ(lives["header_bytes"].ints.front(), 8);
  EXPECT_EQ(lives["stack_id"].ints.front(), 1);
}

TEST(Lifetimes, InheritedBlocksWereThereBefore) {
  MadeUpTrace parent;
  const auto kept = parent.shape(parent.stack(0x2000), 20);
  parent.alloc(0x10010, kept);
  parent.alloc(0x20010, kept);
  const auto clock = parent.clock();
  Replay replay(parent.dictionary, parent.info, {std::nullopt, clock});
  replay.consume(parent.events);
  const LiveSet inherited = replay.live_set();

  MadeUpTrace child;
  const auto own = child.shape(child.stack(0x5000), 100);
  child.free(0x10010);
  child.alloc(0x30010, own);
  const Rows expected{{{1, 0, kNull, 0}, 1}, {{1, 0, kNull, kNull}, 1}, {{0, 0, 0, kNull}, 1}};
  EXPECT_EQ(rows_of(lives_of(child, {100'000}, &inherited)["lifetimes"]), expected);
}

TEST(Lifetimes, SampledBlocksStandForTheirWeight) {
  MadeUpTrace made;
  made.info.sample_bytes = 4096;
  made.alloc(0x10010, made.shape(made.stack(0x2000), 20, 24, 2.5));
  made.alloc(0x20010, made.shape(made.stack(0x2000), 20, 24, 2.5));
  EXPECT_EQ(rows_of(lives_of(made, {100'000})["lifetimes"]), (Rows{{{0, 0, 0, kNull}, 5.0}}));
}

TEST(Lifetimes, EveryBlockIsThatOfTheTableOfBlocks) {
  std::mt19937 chance(19);
  MadeUpTrace made;
  std::vector<trace::ShapeId> shapes;
  for (std::uint64_t i = 0; i < 20; ++i) shapes.push_back(made.shape(made.stack(0x2000 + 0x10 * (i / 3)), 10 + 40 * i));
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    made.step = 1 + chance() % 3000;
    const auto thread = static_cast<std::uint16_t>(chance() % 3);
    if (live.empty() || chance() % 5 < 3) {
      live.push_back(0x10000 + 0x1000 * i);
      made.alloc(live.back(), shapes[chance() % shapes.size()], thread);
    } else {
      std::swap(live[chance() % live.size()], live.back());
      made.free(live.back(), thread);
      live.pop_back();
    }
  }
  const std::vector<std::uint64_t> ends = interval_ends(made.stamp, made.stamp / 3);
  const auto interval = [&](std::int64_t ns) {
    return std::lower_bound(ends.begin(), ends.end(), static_cast<std::uint64_t>(ns)) - ends.begin();
  };
  Rows expected;
  const auto clock = made.clock();
  BlockStream blocks(made.dictionary, made.info, clock, [&](const Table& batch) {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const bool is_freed = !batch["freed_ns"].is_null(row);
      ++expected[{batch["size_id"].ints[row], batch["thread"].ints[row], interval(batch["allocated_ns"].ints[row]),
                  is_freed ? interval(batch["freed_ns"].ints[row]) : kNull}];
    }
    return ok();
  });
  blocks.consume(made.events);
  ASSERT_TRUE(blocks.finish());
  EXPECT_GT(expected.size(), 5000u);
  EXPECT_EQ(rows_of(lives_of(made, ends)["lifetimes"]), expected);
}

TEST(Lifetimes, ThePeakEndsAnInterval) {
  const std::vector<std::uint64_t> ends = interval_ends(1'000'003, 777);
  EXPECT_TRUE(std::ranges::is_sorted(ends));
  EXPECT_EQ(std::ranges::count(ends, 777u), 1);
  EXPECT_EQ(ends.back(), 1'000'003u);
  EXPECT_EQ(ends.size(), 201u);
  EXPECT_EQ(interval_ends(0, 0), std::vector<std::uint64_t>{0});
  EXPECT_EQ(interval_ends(~0ull, ~0ull).back(), ~0ull) << "no overflow";
}

// Events without stamps of their own have the time of the last one.
TEST(Lifetimes, EventsAfterThePeakAtItsTimeAreOfTheNextInterval) {
  std::size_t shared = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 chance(seed);
    MadeUpTrace made;
    std::vector<trace::ShapeId> shapes;
    for (std::uint64_t i = 0; i < 9; ++i) shapes.push_back(made.shape(made.stack(0x4000 + 16 * (i % 4)), 8 + 40 * i));
    std::vector<std::uint64_t> live;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      made.step = chance() % 60 == 0 ? 1000 : 0;
      if (live.empty() || chance() % 20 < 10) {
        live.push_back(0x10000 + 0x1000 * i);
        made.alloc(live.back(), shapes[chance() % shapes.size()]);
      } else if (chance() % 3 == 0) {
        made.realloc(live.back(), live.back(), shapes[chance() % shapes.size()]);
      } else {
        std::swap(live[chance() % live.size()], live.back());
        made.free(live.back());
        live.pop_back();
      }
    }
    made.step = 1000;
    while (!live.empty()) {  // so that no peak is at the end
      made.free(live.back());
      live.pop_back();
    }
    const Tables replayed = made.replay();
    const auto fact = [&](const char* name) { return process_value(replayed, name); };
    const PeakPlace peak{static_cast<std::uint64_t>(fact("peak_time_ns")),
                         static_cast<std::uint32_t>(fact("peak_after_allocations"))};
    const std::vector<std::uint64_t> ends = interval_ends(static_cast<std::uint64_t>(fact("duration_ns")), peak.ns);
    const std::int64_t end = std::ranges::find(ends, peak.ns) - ends.begin();
    const auto gross_at_peak = [&](std::optional<PeakPlace> place) {
      const auto clock = made.clock();
      Lifetimes lifetimes(made.dictionary, made.info, clock, ends, nullptr, place);
      lifetimes.consume(made.events);
      std::int64_t gross = 0;
      for (const auto& [key, blocks] : rows_of(lifetimes.finish()["lifetimes"])) {
        const auto [shape, thread, birth, death] = key;
        const trace::Shape& facts = made.dictionary.shapes[static_cast<std::size_t>(shape)];
        if (birth <= end && (death == kNull || death > end))
          gross += static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(facts.usable_bytes + 8);
      }
      return gross;
    };
    EXPECT_EQ(gross_at_peak(peak), fact("peak_gross_bytes")) << seed;
    shared += gross_at_peak(std::nullopt) != fact("peak_gross_bytes") ? 1 : 0;
  }
  EXPECT_GT(shared, 20u) << "events after the peak share its time in most of these";
}

}  // namespace
}  // namespace tare::core
