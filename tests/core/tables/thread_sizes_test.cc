// Blocks by thread: over the run, at the peak, at the end and at another time.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <utility>

#include "support/made_up_trace.h"

namespace tare::core {
namespace {

constexpr std::int64_t kNoThread = -1;

struct ThreadCounts {
  double total = 0;
  double peak = 0;
  double end = 0;
  double at = 0;
  bool operator==(const ThreadCounts&) const = default;
};

// shape, thread -> blocks
using ThreadRows = std::map<std::pair<std::int64_t, std::int64_t>, ThreadCounts>;

Table thread_table_of(const MadeUpTrace& made, std::optional<std::uint64_t> at_ns, const LiveSet* inherited = nullptr) {
  return made.replay({at_ns, {}, true}, inherited)["thread_sizes"];
}

ThreadRows thread_rows_of(const Table& table) {
  ThreadRows rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto value = [&](const char* name) {
      return table[name].is_null(row) ? kNoThread : table[name].doubles[row];
    };
    const std::int64_t thread = table["thread"].is_null(row) ? kNoThread : table["thread"].ints[row];
    const auto [at, fresh] = rows.emplace(
        std::pair(table["size_id"].ints[row], thread),
        ThreadCounts{value("total_blocks"), value("peak_blocks"), value("end_blocks"), value("at_blocks")});
    EXPECT_TRUE(fresh) << "one row for each";
  }
  return rows;
}

TEST(ThreadSizes, ABlockBelongsToTheThreadThatAllocatedIt) {
  MadeUpTrace made;
  made.step = 100;
  const auto small = made.shape(made.stack(0x2000), 20);
  const auto large = made.shape(made.stack(0x3000), 4000);
  made.alloc(0x10010, small);             // 100 ns
  made.alloc(0x20010, small, 7);          // 200
  made.alloc(0x30010, large, 7);          // 300: the peak
  made.free(0x30010);                     // 400: by another thread
  made.realloc(0x20010, 0x20010, small);  // 500, 600
  const ThreadRows expected{{{0, 0}, {2, 1, 2, 1}}, {{0, 7}, {1, 1, 0, 1}}, {{1, 7}, {1, 1, 0, 0}}};
  EXPECT_EQ(thread_rows_of(thread_table_of(made, 400)), expected) << "an event of the requested time is before it";
  const Table table = thread_table_of(made, std::nullopt);
  EXPECT_EQ(thread_rows_of(table).at({0, 0}), (ThreadCounts{2, 1, 2, kNoThread}));
  EXPECT_EQ(table["stack_id"].ints.front(), 1);
}

TEST(ThreadSizes, InheritedBlocksHaveNoThread) {
  MadeUpTrace parent;
  const auto kept = parent.shape(parent.stack(0x2000), 20);
  parent.alloc(0x10010, kept);
  parent.alloc(0x20010, kept);
  const auto clock = parent.clock();
  Replay replay(parent.dictionary, parent.info, {std::nullopt, clock});
  replay.consume(parent.events);
  const LiveSet inherited = replay.live_set();

  MadeUpTrace child;
  child.step = 100;
  const auto own = child.shape(child.stack(0x5000), 100);
  child.alloc(0x30010, own);
  child.free(0x10010);
  const ThreadRows expected{{{1, kNoThread}, {0, 2, 1, 1}}, {{0, 0}, {1, 1, 1, 1}}};
  EXPECT_EQ(thread_rows_of(thread_table_of(child, 1000, &inherited)), expected);
}

TEST(ThreadSizes, SampledBlocksStandForTheirWeight) {
  MadeUpTrace made;
  made.info.sample_bytes = 4096;
  made.alloc(0x10010, made.shape(made.stack(0x2000), 20, 24, 2.5));
  made.alloc(0x20010, made.shape(made.stack(0x2000), 20, 24, 2.5));
  EXPECT_EQ(thread_rows_of(thread_table_of(made, 1)), (ThreadRows{{{0, 0}, {5, 5, 5, 0}}}));
}

// With a small step, many events share each nanosecond's stamp, those before and after the peak too.
TEST(ThreadSizes, SumsOverThreadsAreThoseOfTheMainPass) {
  for (const unsigned steps : {1u, 2u, 3000u}) {
    std::mt19937 chance(steps);
    MadeUpTrace made;
    std::vector<trace::ShapeId> shapes;
    for (std::uint64_t i = 0; i < 20; ++i) shapes.push_back(made.shape(made.stack(0x2000 + 0x10 * i), 10 + 40 * i));
    std::vector<std::uint64_t> live;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      made.step = chance() % steps;
      const auto thread = static_cast<std::uint16_t>(chance() % 3);
      if (live.empty() || chance() % 20 < (i < 10'000 ? 12 : 8)) {
        live.push_back(0x10000 + 0x1000 * i);
        made.alloc(live.back(), shapes[chance() % shapes.size()], thread);
      } else if (std::swap(live[chance() % live.size()], live.back()); chance() % 4 == 0) {
        const std::uint64_t old = std::exchange(live.back(), 0x10000 + 0x1000 * i);
        made.realloc(old, live.back(), shapes[chance() % shapes.size()], thread);
      } else {
        made.free(live.back(), thread);
        live.pop_back();
      }
    }
    const std::uint64_t at = made.stamp / 5;
    const Tables whole = made.replay({at, {}});
    EXPECT_FALSE(whole["growth"].rows() == 0) << "blocks in chains are among those of further threads";
    Tables with_threads = made.replay({at, {}, true});
    EXPECT_TRUE(with_threads.extract("thread_sizes").has_value());
    EXPECT_TRUE(with_threads == whole) << "counting threads changes no other table";
    std::map<std::int64_t, ThreadCounts> found;
    std::size_t shared = 0;
    for (const auto& [key, counts] : thread_rows_of(thread_table_of(made, at))) {
      ThreadCounts& sum = found[key.first];
      shared += sum.total != 0;
      sum = {sum.total + counts.total, sum.peak + counts.peak, sum.end + counts.end, sum.at + counts.at};
    }
    EXPECT_EQ(shared, 40u) << "three threads a shape";
    const Table& sizes = whole["site_sizes"];
    for (std::size_t row = 0; row < sizes.rows(); ++row) {
      const auto value = [&](const char* name) { return static_cast<double>(sizes[name].ints[row]); };
      const ThreadCounts expected{value("total_blocks"), value("peak_blocks"), value("end_blocks"), value("at_blocks")};
      EXPECT_EQ(found.at(sizes["size_id"].ints[row]), expected) << steps;
    }
  }
}

}  // namespace
}  // namespace tare::core
