// Folding keeps every sum, and gives each line the stack of its heaviest site.
#include "core/recording/fold.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "made_up_tables.h"

namespace tare::core {
namespace {

Table chains_at(const std::vector<std::int64_t>& stacks) {
  TableBuilder table("growth");
  const auto stack_id = table.column("stack_id", ColumnType::Int64);
  const auto steps = table.column("steps", ColumnType::Double);
  for (const std::int64_t stack : stacks) {
    table.add(stack_id, stack);
    table.add(steps, 3.0);
  }
  return table.take();
}

Tables replayed_shapes(const std::vector<MadeUpShape>& shapes, const std::vector<std::int64_t>& growing = {}) {
  Tables tables;
  tables.put(site_sizes_of(shapes));
  tables.put(chains_at(growing));
  return tables;
}

TEST(Fold, AddsUpEqualSizesOfALine) {
  // stacks 0 and 1 are sites 0 and 1 of line 7; stack 2 is site 2 of line 9
  const Tables folded =
      fold_by_line(replayed_shapes({{0, 24, 24, 10, 1}, {1, 24, 24, 5, 4}, {1, 32, 40, 2, 0}, {2, 24, 24, 1, 1}}),
                   sites_of({0, 1, 2}, {7, 7, 9}));
  const Table& sizes = folded["site_sizes"];
  ASSERT_EQ(sizes.rows(), 3u);
  EXPECT_EQ(sizes["total_blocks"].ints, (std::vector<std::int64_t>{15, 2, 1}));
  EXPECT_EQ(sizes["peak_blocks"].ints, (std::vector<std::int64_t>{5, 0, 1}));
  EXPECT_EQ(sizes["requested_bytes"].ints, (std::vector<std::int64_t>{24, 32, 24}));
  EXPECT_EQ(sizes["byte_ns"].doubles, (std::vector<double>{7.5, 1.0, 0.5}));
  EXPECT_EQ(sizes["size_id"].ints, (std::vector<std::int64_t>{0, 1, 2}));
  // line 7 is shown by site 1, whose stack 101 held more at the peak
  EXPECT_EQ(sizes["stack_id"].ints, (std::vector<std::int64_t>{101, 101, 102}));
  EXPECT_TRUE(sizes["at_blocks"].is_null(0));
  EXPECT_EQ(folded["sites"].rows(), 2u);
  EXPECT_EQ(folded["stack_sites"].rows(), 2u);
}

TEST(Fold, KeepsWeightsApart) {
  const Tables folded =
      fold_by_line(replayed_shapes({{0, 24, 24, 1, 0, 0, 2.5}, {0, 24, 24, 1, 0, 0, 3.5}, {0, 24, 24, 4, 0, 0, 2.5}}),
                   sites_of({0}, {7}));
  EXPECT_EQ(folded["site_sizes"]["weight"].doubles, (std::vector<double>{2.5, 3.5}));
  EXPECT_EQ(folded["site_sizes"]["total_blocks"].ints, (std::vector<std::int64_t>{5, 1}));
}

TEST(Fold, MovesChainsToTheirLinesStackAlsoWithoutShapes) {
  const Tables folded = fold_by_line(replayed_shapes({{0, 24, 24, 1, 1}}, {1, 2}), sites_of({0, 1, 2}, {7, 7, 9}));
  EXPECT_EQ(folded["growth"]["stack_id"].ints, (std::vector<std::int64_t>{100, 102}));
  EXPECT_EQ(folded["growth"]["steps"].doubles, (std::vector<double>{3, 3}));
  EXPECT_EQ(folded["sites"].rows(), 2u);
}

TEST(Fold, MakesTheTimedCallsOfALineOneRow) {
  TableBuilder costs("call_costs");
  const auto stack_id = costs.column("stack_id", ColumnType::Int64);
  const auto calls = costs.column("calls", ColumnType::Int64);
  const auto ns = costs.column("ns", ColumnType::Double);
  const auto max_ns = costs.column("max_ns", ColumnType::Double);
  const auto max_free_ns = costs.column("max_free_ns", ColumnType::Double);
  struct Cost {
    std::int64_t stack, calls;
    double ns, max_ns;
  };
  for (const Cost& cost : {Cost{2, 1, 5, 5}, Cost{0, 2, 70, 60}, Cost{1, 3, 90, 40}}) {
    costs.add(stack_id, cost.stack);
    costs.add(calls, cost.calls);
    costs.add(ns, cost.ns);
    costs.add(max_ns, cost.max_ns);
    costs.add(max_free_ns, cost.ns);
  }
  Tables made = replayed_shapes({{0, 24, 24, 10, 1}, {1, 24, 24, 5, 4}, {2, 24, 24, 1, 1}});
  made.put(costs.take());
  const Tables folded = fold_by_line(made, sites_of({0, 1, 2}, {7, 7, 9}));
  EXPECT_EQ(folded["call_costs"]["stack_id"].ints, (std::vector<std::int64_t>{102, 101}));
  EXPECT_EQ(folded["call_costs"]["calls"].ints, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(folded["call_costs"]["ns"].doubles, (std::vector<double>{5, 160}));
  EXPECT_EQ(folded["call_costs"]["max_ns"].doubles, (std::vector<double>{5, 60}));
  EXPECT_EQ(folded["call_costs"]["max_free_ns"].doubles, (std::vector<double>{5, 90}));
}

TEST(Fold, MovesFailedRequestsToTheirLinesStackAlsoWithoutShapes) {
  TableBuilder failed("failed_requests");
  const auto stack_id = failed.column("stack_id", ColumnType::Int64);
  const auto last_number = failed.column("last_number", ColumnType::Int64);
  for (const std::int64_t stack : {0, 1, 2}) {
    failed.add(stack_id, stack);
    failed.add(last_number, stack + 1);
  }
  Tables made = replayed_shapes({{0, 24, 24, 1, 1}, {1, 24, 24, 5, 4}});
  made.put(failed.take());
  const Tables folded = fold_by_line(made, sites_of({0, 1, 2}, {7, 7, 9}));
  EXPECT_EQ(folded["failed_requests"]["stack_id"].ints, (std::vector<std::int64_t>{101, 101, 102}));
  EXPECT_EQ(folded["failed_requests"]["last_number"].ints, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(folded["sites"].rows(), 2u);
}

struct MadeUpMark {
  std::int64_t shape, stack, mark;
  double unwritten;
  std::int64_t site_mark;
};

Table written_of(const std::vector<MadeUpMark>& marks) {
  TableBuilder written("written");
  const auto column = [&](const char* name) { return written.column(name, ColumnType::Int64); };
  const auto shape = column("size_id"), stack = column("stack_id"), requested = column("requested_bytes"),
             mark = column("max_high_water_bytes"), site_mark = column("site_high_water_bytes"),
             smallest = column("site_requested_bytes");
  const auto ended = written.column("ended_blocks", ColumnType::Double),
             unwritten = written.column("unwritten_total_bytes", ColumnType::Double),
             blocks = written.column("site_blocks", ColumnType::Double),
             narrow = written.column("site_narrow_blocks", ColumnType::Double);
  for (const MadeUpMark& one : marks) {
    written.add(shape, one.shape);
    written.add(stack, one.stack);
    written.add(requested, std::int64_t{24});
    written.add(mark, one.mark);
    written.add(site_mark, one.site_mark);
    written.add(smallest, std::int64_t{24});
    written.add(ended, 10.0);
    written.add(unwritten, one.unwritten);
    written.add(blocks, 30.0);
    written.add(narrow, 0.0);
  }
  return written.take();
}

TEST(Fold, MakesMarksOfALinesSizeOneRowWhereTheirSitesAreAlike) {
  Tables sites = sites_of({0, 1, 2, 0}, {7, 7, 9});
  sites.put(written_of({{0, 0, 8, 100, 16}, {1, 1, 16, 7, 16}, {2, 2, 3, 5, 3}, {3, 0, 0, 40, 16}, {4, 3, 4, 1, 20}}));
  const Tables folded = fold_by_line(
      replayed_shapes({{0, 24, 24, 10, 1}, {1, 24, 24, 5, 4}, {2, 24, 24, 1, 1}, {0, 24, 24, 3}, {3, 24, 24, 2}}),
      sites);
  const Table& written = folded["written"];
  // the first two; the line apart; nothing written; another site
  EXPECT_EQ(written["unwritten_total_bytes"].doubles, (std::vector<double>{107, 5, 40, 1}));
  EXPECT_EQ(written["ended_blocks"].doubles, (std::vector<double>{20, 10, 10, 10}));
  EXPECT_EQ(written["max_high_water_bytes"].ints, (std::vector<std::int64_t>{16, 3, 0, 4}));
  EXPECT_EQ(written["size_id"].ints, (std::vector<std::int64_t>{0, 1, 0, 0}));
  EXPECT_EQ(written["stack_id"].ints, (std::vector<std::int64_t>{101, 102, 101, 101}));
  EXPECT_EQ(written["requested_bytes"].ints, (std::vector<std::int64_t>{24, 24, 24, 24}));
  EXPECT_EQ(written["site_blocks"].doubles, (std::vector<double>{30, 30, 30, 30}));
}

TEST(Fold, AddsUpContentsOfALineUnderItsCommonest) {
  TableBuilder table("recreated");
  const auto stack_id = table.column("stack_id", ColumnType::Int64), digest = table.column("digest", ColumnType::Int64),
             requested = table.column("requested_bytes", ColumnType::Int64);
  const auto content_class = table.column("content_class", {"other", "text"});
  const auto times = table.column("times", ColumnType::Double), contents = table.column("contents", ColumnType::Double),
             max_times = table.column("max_times", ColumnType::Double);
  const auto max_requested = table.column("max_requested_bytes", ColumnType::Int64);
  struct Content {
    std::int64_t stack, digest, requested;
    std::int32_t content_class;
    double times;
  };
  for (const Content& content :
       {Content{0, 71, 24, 0, 5}, Content{2, 71, 8, 0, 1}, Content{1, 72, 16, 1, 9}, Content{0, 73, 32, 0, 9}}) {
    table.add(stack_id, content.stack);
    table.add(digest, content.digest);
    table.add(requested, content.requested);
    table.add_code(content_class, content.content_class);
    table.add(times, content.times);
    table.add(contents, 1.0);
    table.add(max_times, content.times);
    table.add(max_requested, content.requested);
  }
  Tables made = replayed_shapes({{0, 24, 24, 10, 1}, {1, 24, 24, 5, 4}, {2, 24, 24, 1, 1}});
  made.put(table.take());
  const Tables folded = fold_by_line(made, sites_of({0, 1, 2}, {7, 7, 9}));
  const Table& recreated = folded["recreated"];
  EXPECT_EQ(recreated["stack_id"].ints, (std::vector<std::int64_t>{101, 102}));
  EXPECT_EQ(recreated["digest"].ints, (std::vector<std::int64_t>{72, 71}));  // of the equally common the first
  EXPECT_EQ(recreated["requested_bytes"].ints, (std::vector<std::int64_t>{16, 8}));
  EXPECT_EQ(recreated["content_class"].text(0), "text");
  EXPECT_EQ(recreated["times"].doubles, (std::vector<double>{23, 1}));
  EXPECT_EQ(recreated["contents"].doubles, (std::vector<double>{3, 1}));
  EXPECT_EQ(recreated["max_times"].doubles, (std::vector<double>{9, 1}));
  EXPECT_EQ(recreated["max_requested_bytes"].ints, (std::vector<std::int64_t>{32, 8}));
}

TEST(Fold, GivesStacksWithoutFramesOneLine) {
  const Tables folded = fold_by_line(replayed_shapes({{0, 24, 24, 1, 1}}), sites_of({0}, {-1}));
  ASSERT_EQ(folded["sites"].rows(), 1u);
  EXPECT_TRUE(folded["sites"]["site_location_id"].is_null(0));
}

TEST(Fold, TakesAnEmptyRecording) {
  const Tables folded = fold_by_line(replayed_shapes({}), sites_of({}, {}));
  EXPECT_EQ(folded["site_sizes"].rows(), 0u);
  EXPECT_EQ(folded["sites"].rows(), 0u);
}

// Stacks 0, 1 and 3 are of site 0; stack 1 grows blocks. Stack 2 is of site 1.
TEST(FoldSizesBySite, AddsUpEqualSizesOfASiteAndKeepsGrowingStacksApart) {
  Tables sites;
  TableBuilder site("sites");
  const auto site_id = site.column("site_id", ColumnType::Int64);
  for (const std::int64_t each : {0, 1}) site.add(site_id, each);
  sites.put(site.take());
  TableBuilder stack_sites("stack_sites");
  const auto stack = stack_sites.column("stack_id", ColumnType::Int64);
  const auto of = stack_sites.column("site_id", ColumnType::Int64);
  for (const auto& [each, its_site] :
       std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {1, 0}, {2, 1}, {3, 0}, {4, 1}}) {
    stack_sites.add(stack, each);
    stack_sites.add(of, its_site);
  }
  sites.put(stack_sites.take());
  const Tables folded = fold_sizes_by_site(
      replayed_shapes({{0, 24, 24, 10, 1}, {1, 24, 24, 5, 4}, {3, 24, 24, 2, 1}, {3, 32, 40, 1, 1}, {2, 24, 24, 1, 1}},
                      {1, 4}),
      sites);
  const Table& sizes = folded["site_sizes"];
  EXPECT_EQ(sizes["stack_id"].ints, (std::vector<std::int64_t>{0, 1, 0, 2}));
  EXPECT_EQ(sizes["total_blocks"].ints, (std::vector<std::int64_t>{12, 5, 1, 1}));
  EXPECT_EQ(sizes["peak_blocks"].ints, (std::vector<std::int64_t>{2, 4, 1, 1}));
  EXPECT_EQ(sizes["size_id"].ints, (std::vector<std::int64_t>{0, 1, 2, 3}));
  // stack 3 became stack 0; `growth` names stack 4, which has no shape
  EXPECT_EQ(folded["stack_sites"]["stack_id"].ints, (std::vector<std::int64_t>{0, 1, 2, 4}));
  EXPECT_EQ(folded["stack_sites"]["site_id"].ints, (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(folded["large_stacks"].rows(), 0u);
}

}  // namespace
}  // namespace tare::core
