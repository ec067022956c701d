// Results of reports and pools, on made-up traces small enough to count by hand.
#include "core/heavy_tables/program_reports.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/heavy_tables/blocks.h"
#include "support/made_up_trace.h"
#include "trace/spool/program_note.h"

namespace tare::core {
namespace {

using trace::EventKind;
using trace::pool_word;

class ReportingTrace : public MadeUpTrace {
 public:
  trace::ShapeId name(const char* text) {
    dictionary.names.emplace_back(text);
    return static_cast<trace::ShapeId>(dictionary.names.size() - 1);
  }
  void report(std::uint64_t address, trace::ShapeId path) { add(EventKind::Report, address, path); }
  void report_on_alloc(std::uint64_t address, trace::ShapeId path) {
    report(address, path);
    events.back().api = 1;
  }
  void clear() { add(EventKind::ClearReports, 0); }

  Tables replayed() {
    ProgramReports reports(dictionary, info, clock());
    reports.consume(events);
    Tables tables = reports.finish();
    warnings = reports.warnings();
    return tables;
  }
  std::vector<std::string> warnings;
};

// The values of a column, null as -1.
std::vector<std::int64_t> values(const Table& table, const char* name) {
  const Column& column = table[name];
  std::vector<std::int64_t> found;
  for (std::size_t row = 0; row < column.size(); ++row) found.push_back(column.is_null(row) ? -1 : column.ints[row]);
  return found;
}
using Values = std::vector<std::int64_t>;

TEST(ProgramReports, StandUntilClearedOrFreed) {
  ReportingTrace trace;
  const auto shape = trace.shape(trace.stack(0x1234), 100);  // 104 usable
  const auto a = trace.name("explicit/a"), b = trace.name("explicit/b");
  for (std::uint64_t block = 1; block <= 4; ++block) trace.alloc(block * 0x100, shape);
  trace.report_on_alloc(0x100, a);
  trace.report(0x200, a);
  trace.clear();
  trace.report(0x200, b);
  trace.report(0x300, b);
  trace.report(0x400, b);
  trace.free(0x300);
  trace.realloc(0x400, 0x400, shape);  // a new block at the old address
  const Tables tables = trace.replayed();
  const Table& reports = tables["reports"];
  EXPECT_EQ(values(reports, "block_id"), (Values{0, 1, 1, 2, 3}));
  EXPECT_EQ(values(reports, "usable_bytes"), (Values{104, 104, 104, 104, 104}));
  EXPECT_EQ(values(reports, "requested_bytes"), (Values{100, 100, 100, 100, 100}));
  EXPECT_EQ(values(reports, "round"), (Values{0, 0, 1, 1, 1}));
  EXPECT_EQ(values(reports, "on_alloc"), (Values{1, 0, 0, 0, 0}));
  EXPECT_EQ(values(reports, "standing"), (Values{1, 0, 1, 0, 0}));
  EXPECT_EQ(values(reports, "nth"), (Values{1, 1, 1, 1, 1}));
  EXPECT_EQ(reports["path"].text(0), "explicit/a");
  EXPECT_EQ(reports["path"].text(2), "explicit/b");
  EXPECT_TRUE(trace.warnings.empty());
}

TEST(ProgramReports, CountHowOftenABlockIsClaimed) {
  ReportingTrace trace;
  trace.alloc(0x100, trace.shape(trace.stack(0x1234), 100));
  const auto a = trace.name("a"), b = trace.name("b");
  trace.report_on_alloc(0x100, a);
  trace.report(0x100, b);  // by two
  trace.report(0x100, b);
  trace.clear();
  trace.report(0x100, b);
  trace.free(0x100);
  trace.alloc(0x100, trace.shape(trace.stack(0x1234), 100));
  trace.report(0x100, b);  // another block
  EXPECT_EQ(values(trace.replayed()["reports"], "nth"), (Values{1, 2, 3, 2, 1}));
}

TEST(ProgramReports, OfNoBlockAreShownAndSaid) {
  ReportingTrace trace;
  trace.alloc(0x100, trace.shape(trace.stack(0x1234), 100));
  const auto a = trace.name("explicit/a");
  trace.report(0x108, a);  // inside
  trace.free(0x100);
  trace.report(0x100, a);
  trace.report(0x100, trace::kNoShape);  // a path that the recorder had no room for
  const Tables tables = trace.replayed();
  EXPECT_EQ(values(tables["reports"], "block_id"), (Values{-1, -1, -1}));
  EXPECT_EQ(values(tables["reports"], "usable_bytes"), (Values{-1, -1, -1}));
  EXPECT_EQ(values(tables["reports"], "standing"), (Values{0, 0, 0}));
  EXPECT_TRUE(tables["reports"]["path"].is_null(2));
  ASSERT_EQ(trace.warnings.size(), 1u);
  EXPECT_EQ(
      trace.warnings[0],
      "the program reported 3 addresses at which no live block begins, first 0x108 as explicit/a; they are in table "
      "reports, with block_id null");
}

TEST(ProgramReports, BlockIdsAreThoseOfTableBlocks) {
  ReportingTrace trace;
  const auto a = trace.name("a");
  const auto small = trace.shape(trace.stack(0x1234), 8), large = trace.shape(trace.stack(0x1234), 5000);
  LiveSet inherited;
  inherited.dictionary = trace.dictionary;
  inherited.blocks = {{0x9000, small}, {0xa000, large}};
  trace.alloc(0x100, small);
  trace.free(0x9000);
  trace.alloc(0x200, large);
  trace.realloc(0x100, 0x300, large);
  for (const std::uint64_t address : {0x200, 0x300, 0xa000}) trace.report(address, a);
  ProgramReports reports(trace.dictionary, trace.info, trace.clock(), &inherited);
  reports.consume(trace.events);
  const Tables tables = reports.finish();

  std::map<std::int64_t, std::int64_t> address_of;  // of blocks live at the end
  BlockStream blocks(
      trace.dictionary, trace.info, trace.clock(),
      [&](Table batch) -> Status {
        for (std::size_t row = 0; row < batch.rows(); ++row) {
          if (batch["freed_ns"].is_null(row)) address_of[batch["block_id"].ints[row]] = batch["address"].ints[row];
        }
        return ok();
      },
      &inherited);
  blocks.consume(trace.events);
  ASSERT_TRUE(blocks.finish());
  const auto ids = values(tables["reports"], "block_id");
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(address_of.at(ids[0]), 0x200);
  EXPECT_EQ(address_of.at(ids[1]), 0x300);
  EXPECT_EQ(address_of.at(ids[2]), 0xa000);
  EXPECT_EQ(values(tables["reports"], "usable_bytes"), (Values{5000, 5000, 5000}));
}

// A segment doesn't contain the events of the segments before it.
TEST(ProgramReports, PoolsOfEarlierSegmentsAreTakenOver) {
  ReportingTrace trace;
  const auto block = trace.map_shape(64, trace::MapApi::PoolBlock);
  const auto memory = trace.map_shape(4096, trace::MapApi::PoolMemory);
  trace.add(EventKind::PoolFree, pool_word(1, 0x10'0000));  // handed out before
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x10'0040), block);
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x10'0080), block);
  trace.add(EventKind::PoolFree, pool_word(1, 0x10'00c0));
  trace.add(EventKind::PoolFree, pool_word(1, 0x10'0040));
  trace.add(EventKind::PoolGrow, pool_word(1, 0x20'0000), memory);
  trace.add(EventKind::PoolShrink, pool_word(1, 0x10'0000));
  trace.add(EventKind::PoolDestroy, pool_word(2, 0));
  const LiveSet nothing;
  ProgramReports of_segment(trace.dictionary, trace.info, trace.clock(), &nothing);
  of_segment.consume(trace.events);
  const Tables tables = of_segment.finish();
  EXPECT_EQ(of_segment.warnings(), std::vector<std::string>());
  EXPECT_EQ(tables["pools"].rows(), 1u);
  EXPECT_TRUE(tables["pools"]["name"].is_null(0));
  EXPECT_EQ(tables["pool_blocks"].rows(), 2u);
  EXPECT_EQ(tables["pool_memory"].rows(), 1u);
  EXPECT_EQ(tables["pool_blocks"]["freed_ns"].is_null(0), false);
  EXPECT_EQ(tables["pool_blocks"]["freed_ns"].is_null(1), true);
  // In a trace that has all of the process's events, each of them is a contradiction.
  trace.replayed();
  EXPECT_EQ(trace.warnings.size(), 1u);
}

// One line a row of `claimed`: blocks x usable bytes, reports, path, second path, former path.
std::vector<std::string> claimed_lines(const Table& table) {
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string line = std::to_string(table["blocks"].ints[row]) + " x " +
                       std::to_string(table["usable_bytes"].ints[row]) + " " + std::string(table["kind"].text(row)) +
                       ", " + std::to_string(table["reports"].ints[row]);
    for (const char* path : {"path", "second_path", "formerly"}) {
      line += table[path].is_null(row) ? " -" : " " + std::string(table[path].text(row));
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}
using Lines = std::vector<std::string>;

TEST(ProgramReports, DivideTheHeapByWhoClaimsIt) {
  ReportingTrace trace;
  const auto here = trace.stack(0x1234), reporter = trace.stack(0x5678);
  const auto shape = trace.shape(here, 100);  // 104 usable
  const auto a = trace.name("a"), b = trace.name("b");
  for (std::uint64_t block = 1; block <= 5; ++block) trace.alloc(block * 0x1000, shape);
  trace.report(0x3000, b);
  trace.clear();
  const auto site = trace.map_shape(0, trace::MapApi::ReportSite);
  trace.dictionary.shapes.back().stack = reporter;
  trace.add(EventKind::ReportSite, 0x1000, site);
  trace.report(0x1000, a);
  trace.report(0x2000, a);
  trace.report(0x2000, b);
  trace.report(0x9000, b);  // nothing there
  trace.free(0x1000);
  trace.free(0x5000);
  EXPECT_EQ(claimed_lines(trace.replayed()["claimed"]),
            (Lines{"1 x 104 malloc, 0 - - -", "1 x 104 malloc, 0 - - b", "1 x 104 malloc, 2 a b -"}));

  ProgramReports after_two(trace.dictionary, trace.info, trace.clock(), nullptr, {std::nullopt, 2});
  after_two.consume(trace.events);
  const Tables tables = after_two.finish();
  const Table& claimed = tables["claimed"];
  EXPECT_EQ(claimed_lines(claimed),
            (Lines{"1 x 104 malloc, 0 - - b", "1 x 104 malloc, 1 a - -", "3 x 104 malloc, 0 - - -"}));
  for (std::size_t row = 0; row < claimed.rows(); ++row) {
    const bool is_reported = claimed["reports"].ints[row] == 1;
    EXPECT_EQ(claimed["report_stack_id"].is_null(row), !is_reported);
    EXPECT_EQ(claimed["report_stack_id"].ints[row], is_reported ? trace::index(reporter) : 0);
  }

  ProgramReports at_time(trace.dictionary, trace.info, trace.clock(), nullptr, {3 * 256, std::nullopt});
  at_time.consume(trace.events);
  EXPECT_EQ(claimed_lines(at_time.finish()["claimed"]), (Lines{"3 x 104 malloc, 0 - - -"}));
}

TEST(ProgramReports, OfAPoolAreOfItsMemoryToo) {
  ReportingTrace trace;
  const auto cells = trace.name("cells");
  trace.alloc(0x1000, trace.shape(trace.stack(0x1234), 1000));  // 1000 usable
  trace.add(EventKind::PoolCreate, pool_word(1, 0), cells);
  trace.add(EventKind::PoolGrow, pool_word(1, 0x1000), trace.map_shape(960, trace::MapApi::PoolMemory));
  const auto cell = trace.map_shape(64, trace::MapApi::PoolBlock);
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x1000), cell);
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x1040), cell);
  EXPECT_EQ(claimed_lines(trace.replayed()["claimed"]),
            (Lines{"1 x 40 malloc, 0 - - -", "1 x 832 pool memory, 0 - - -", "2 x 64 pool block, 0 - - -"}));
  trace.report(0x1000, cells);  // the memory, or the cell that begins there: both
  EXPECT_EQ(
      claimed_lines(trace.replayed()["claimed"]),
      (Lines{"1 x 40 malloc, 1 cells - -", "1 x 832 pool memory, 1 cells - -", "2 x 64 pool block, 1 cells - -"}));
  trace.report(0x1000, cells);
  trace.report(0x1040, cells);
  EXPECT_EQ(
      claimed_lines(trace.replayed()["claimed"]),
      (Lines{"1 x 40 malloc, 1 cells - -", "1 x 832 pool memory, 1 cells - -", "2 x 64 pool block, 1 cells - -"}));
  trace.report(0x1040, cells);
  EXPECT_EQ(claimed_lines(trace.replayed()["claimed"]),
            (Lines{"1 x 40 malloc, 1 cells - -", "1 x 64 pool block, 1 cells - -", "1 x 64 pool block, 2 cells cells -",
                   "1 x 832 pool memory, 1 cells - -"}));
}

TEST(ProgramPools, CountMemoryAndBlocks) {
  ReportingTrace trace;
  const auto chunk = trace.shape(trace.stack(0x1234), 4096);
  const auto memory = trace.map_shape(4080, trace::MapApi::PoolMemory);
  const auto page = trace.map_shape(1000, trace::MapApi::PoolMemory);
  const auto cell = trace.map_shape(64, trace::MapApi::PoolBlock);
  trace.alloc(0x1000, chunk);
  trace.add(EventKind::PoolCreate, pool_word(3, 0), trace.name("cells"));
  trace.add(EventKind::PoolGrow, pool_word(3, 0x1010), memory);  // behind the pool's own header
  trace.add(EventKind::PoolGrow, pool_word(3, 0x900000), page);  // not malloc's
  for (std::uint64_t i = 0; i < 5; ++i) trace.add(EventKind::PoolAlloc, pool_word(3, 0x1010 + 64 * i), cell);
  trace.add(EventKind::PoolFree, pool_word(3, 0x1010));
  trace.add(EventKind::PoolShrink, pool_word(3, 0x900000));
  trace.report(0x1050, trace.name("explicit/cell"));
  trace.add(EventKind::PoolCreate, pool_word(4, 0), trace::kNoShape);
  trace.add(EventKind::PoolAlloc, pool_word(4, 0x1050), cell);  // a pool upon the pool
  trace.add(EventKind::PoolReset, pool_word(4, 0));
  trace.add(EventKind::PoolDestroy, pool_word(4, 0));
  const Tables tables = trace.replayed();
  const Table& pools = tables["pools"];
  EXPECT_EQ(values(pools, "memory_bytes"), (Values{4080, 0}));
  EXPECT_EQ(values(pools, "used_bytes"), (Values{4 * 64, 0}));
  EXPECT_EQ(values(pools, "blocks"), (Values{4, 0}));
  EXPECT_EQ(values(pools, "peak_memory_bytes"), (Values{5080, 0}));
  EXPECT_EQ(values(pools, "peak_used_bytes"), (Values{5 * 64, 64}));
  EXPECT_EQ(values(pools, "peak_blocks"), (Values{5, 1}));
  EXPECT_EQ(values(pools, "total_blocks"), (Values{5, 1}));
  EXPECT_EQ(values(pools, "total_bytes"), (Values{320, 64}));
  EXPECT_EQ(pools["name"].text(0), "cells");
  EXPECT_TRUE(pools["name"].is_null(1));
  EXPECT_TRUE(pools["destroyed_ns"].is_null(0));
  EXPECT_FALSE(pools["destroyed_ns"].is_null(1));
  EXPECT_EQ(values(tables["pool_memory"], "heap_block_id"), (Values{0, -1}));
  EXPECT_EQ(tables["pool_blocks"].rows(), 6u);
  EXPECT_EQ(values(tables["reports"], "pool_block_id"), (Values{1}));
  EXPECT_EQ(values(tables["reports"], "usable_bytes"), (Values{64}));
  EXPECT_EQ(values(tables["reports"], "standing"), (Values{1}));
  EXPECT_TRUE(trace.warnings.empty());
}

TEST(ProgramPools, WhatCantBeIsCountedAndDoesNoHarm) {
  ReportingTrace trace;
  const auto cell = trace.map_shape(64, trace::MapApi::PoolBlock);
  trace.add(EventKind::PoolAlloc, pool_word(9, 0x1000), cell);  // no such pool
  trace.add(EventKind::PoolCreate, pool_word(1, 0), trace.name("p"));
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x1000), cell);
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x1000), cell);  // handed out twice
  trace.add(EventKind::PoolFree, pool_word(1, 0x1000));
  trace.add(EventKind::PoolFree, pool_word(1, 0x1000));                // and freed twice
  trace.add(EventKind::PoolShrink, pool_word(1, 0x2000));              // never had it
  trace.add(EventKind::PoolCreate, pool_word(1, 0), trace.name("q"));  // the first one's end is missing
  trace.add(EventKind::PoolAlloc, pool_word(1, 0x1000), trace::kNoShape);
  const Tables tables = trace.replayed();
  EXPECT_EQ(values(tables["pools"], "used_bytes"), (Values{0, 0}));
  EXPECT_EQ(values(tables["pools"], "blocks"), (Values{0, 1}));
  ASSERT_EQ(trace.warnings.size(), 1u);
  EXPECT_NE(trace.warnings[0].find("told 5 things of its pools"), std::string::npos) << trace.warnings[0];
}

TEST(ProgramReports, AmountsAreHeldAgainstWhatIsReportedByThen) {
  ReportingTrace trace;
  const auto shape = trace.shape(trace.stack(0x1234), 100);  // 104 usable
  const auto cache = trace.name("cache"), pages = trace.name("cache/pages"), other = trace.name("cachet");
  for (std::uint64_t block = 1; block <= 6; ++block) trace.alloc(block * 0x100, shape);
  trace.report_on_alloc(0x100, cache);
  trace.report(0x200, pages);
  trace.report(0x200, cache);  // twice: counted once
  trace.report(0x300, pages);
  trace.report(0x400, other);
  trace.add(EventKind::Amount, 250, cache);
  trace.add(EventKind::Amount, 0, pages);
  trace.free(0x300);
  trace.add(EventKind::Amount, 200, cache);
  trace.clear();
  trace.report(0x500, pages);
  trace.add(EventKind::Amount, 208, cache);
  trace.add(EventKind::Amount, 5);  // its name was lost
  const Tables tables = trace.replayed();
  const Table& amounts = tables["amounts"];
  EXPECT_EQ(values(amounts, "reported_bytes"), (Values{250, 0, 200, 208, 5}));
  EXPECT_EQ(values(amounts, "blocks"), (Values{3, 2, 2, 2, 0}));
  EXPECT_EQ(values(amounts, "usable_bytes"), (Values{312, 208, 208, 208, 0}));
  EXPECT_EQ(values(amounts, "requested_bytes"), (Values{300, 200, 200, 200, 0}));
  EXPECT_EQ(values(amounts, "round"), (Values{0, 0, 0, 1, 1}));
  EXPECT_EQ(amounts["path"].text(1), "cache/pages");
  EXPECT_TRUE(amounts["path"].is_null(4));
}

TEST(ProgramReports, HoldersAreCountedByShape) {
  ReportingTrace trace;
  const auto small = trace.shape(trace.stack(0x1234), 100);
  const auto large = trace.shape(trace.stack(0x1234), 1000);
  const auto hold = [&](std::uint64_t address, std::uint8_t several) {
    trace.add(EventKind::Holders, address);
    trace.events.back().api = several;
  };
  trace.alloc(0x100, small);
  trace.alloc(0x200, small);
  trace.alloc(0x300, large);
  trace.alloc(0x400, large);  // nobody counts its holders
  hold(0x100, 0);
  hold(0x200, 0);
  hold(0x300, 0);
  hold(0x100, 1);
  hold(0x100, 1);
  hold(0x308, 1);  // no block
  trace.free(0x100);
  trace.alloc(0x100, large);
  hold(0x100, 1);
  const Tables tables = trace.replayed();
  const Table& holders = tables["sharing"];
  EXPECT_EQ(values(holders, "size_id"), (Values{trace::index(small), trace::index(large)}));
  EXPECT_EQ(values(holders, "blocks"), (Values{2, 2}));
  EXPECT_EQ(values(holders, "shared_blocks"), (Values{1, 1}));
  EXPECT_EQ(values(holders, "end_blocks"), (Values{1, 2}));
  EXPECT_EQ(values(holders, "end_shared_blocks"), (Values{0, 1}));
}

}  // namespace
}  // namespace tare::core
