// Reports of arenas and cages to a reporter.
#include <gtest/gtest.h>

#include <cstring>

#include "tare/arena.h"
#include "tare/cage.h"
#include "tare/memory_reporter.h"

namespace tare {
namespace {

std::int64_t amount(const MemorySnapshot& snapshot, std::string_view path) {
  for (const MemoryReport& report : snapshot.reports) {
    if (report.path == path) return report.amount;
  }
  return -1;
}

TEST(ArenaReport, ChunksAreReportedAsTheAllocatorSeesThem) {
  Arena arena;
  for (int i = 0; i < 5000; ++i) ASSERT_NE(arena.allocate(100), nullptr);
  ASSERT_NE(arena.allocate(300'000), nullptr);
  ReporterRegistry registry;
  const ReporterHandle handle = registry.add("explicit/parser", [&](ReportSink& sink) { arena.report(sink); });
  const MemorySnapshot snapshot = registry.collect();
  const auto committed = static_cast<std::int64_t>(arena.use().committed_bytes);
  EXPECT_GE(amount(snapshot, "explicit/parser/chunks"), committed);
  EXPECT_LE(amount(snapshot, "explicit/parser/chunks"), committed + 16 * static_cast<std::int64_t>(arena.use().chunks));
  EXPECT_EQ(amount(snapshot, "parser/used"), static_cast<std::int64_t>(arena.use().used_bytes));
  EXPECT_EQ(amount(snapshot, "parser/slack"), static_cast<std::int64_t>(arena.use().slack_bytes));
  EXPECT_TRUE(snapshot.problems.empty());
}

TEST(CageReport, TellsWhatNobodyElseCan) {
  CageResult<Cage> made = Cage::reserve({.size_bytes = std::size_t{1} << 30});
  ASSERT_TRUE(made);
  Cage& cage = made.value();
  Arena arena(ArenaOptions{.source = cage_source(cage)});
  ASSERT_NE(arena.allocate(100'000), nullptr);
  const PageRun run = cage.allocate(1 << 20).value();
  std::memset(run.data, 1, run.size_bytes);
  cage.free(run, FreedPages::Keep);
  ReporterRegistry registry;
  const ReporterHandle first = registry.add("explicit/cage", [&](ReportSink& sink) { cage.report(sink); });
  const ReporterHandle second = registry.add("explicit/arena", [&](ReportSink& sink) { arena.report(sink); });
  const MemorySnapshot snapshot = registry.collect();
  EXPECT_EQ(amount(snapshot, "explicit/cage/kept"), 1 << 20);
  EXPECT_GT(amount(snapshot, "explicit/cage/books"), 0);
  EXPECT_LT(amount(snapshot, "explicit/cage/books"), 1 << 20) << "what is touched of them";
  EXPECT_EQ(amount(snapshot, "explicit/arena/chunks"), amount(snapshot, "cage/used")) << "no byte twice, none left out";
  EXPECT_EQ(amount(snapshot, "cage/reserved"), 1 << 30);
  EXPECT_GT(amount(snapshot, "cage/largest-free"), 1 << 29);
}

}  // namespace
}  // namespace tare
