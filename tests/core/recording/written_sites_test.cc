// Facts about sites, from tables counted by hand.
#include "core/recording/written_sites.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

struct Shape {
  std::int64_t stack, requested, total, end, mark;  // mark -1: written to its end, no row
};

// `is_exit_known`: rows of `written` have blocks that lived at the end, too.
Tables replayed(const std::vector<Shape>& shapes, bool is_exit_known = false) {
  TableBuilder sizes("site_sizes");
  TableBuilder written("written");
  const auto size_id = sizes.column("size_id", ColumnType::Int64), stack = sizes.column("stack_id", ColumnType::Int64),
             requested = sizes.column("requested_bytes", ColumnType::Int64),
             total = sizes.column("total_blocks", ColumnType::Int64),
             end = sizes.column("end_blocks", ColumnType::Int64),
             inherited = sizes.column("inherited", ColumnType::Int64),
             weight = sizes.column("weight", ColumnType::Double);
  const auto of = written.column("size_id", ColumnType::Int64), at = written.column("stack_id", ColumnType::Int64),
             mark = written.column("max_high_water_bytes", ColumnType::Int64),
             size = written.column("requested_bytes", ColumnType::Int64);
  const auto narrow = written.column("narrow_blocks", ColumnType::Double);
  TableBuilder process("process");
  const auto at_exit = process.column("contents_at_exit", ColumnType::Int64);
  process.add(at_exit, std::int64_t{is_exit_known});
  std::int64_t id = 0;
  for (const Shape& shape : shapes) {
    sizes.add(size_id, id);
    sizes.add(stack, shape.stack);
    sizes.add(requested, shape.requested);
    sizes.add(total, shape.total);
    sizes.add(end, shape.end);
    sizes.add(inherited, std::int64_t{0});
    sizes.add(weight, 2.0);
    if (shape.mark >= 0) {
      written.add(of, id);
      written.add(at, shape.stack);
      written.add(mark, shape.mark);
      written.add(size, shape.requested);
      written.add(narrow,
                  shape.mark < shape.requested * 6 / 10 ? 2.0 * static_cast<double>(shape.total - shape.end) : 0);
    }
    ++id;
  }
  Tables tables;
  tables.put(sizes.take());
  tables.put(written.take());
  tables.put(process.take());
  return tables;
}

// Stacks 1 and 2 are site 10, stack 3 is site 11.
Tables sites() {
  TableBuilder table("stack_sites");
  const auto stack = table.column("stack_id", ColumnType::Int64), site = table.column("site_id", ColumnType::Int64);
  for (const auto& [from, to] : {std::pair{1, 10}, std::pair{2, 10}, std::pair{3, 11}}) {
    table.add(stack, std::int64_t{from});
    table.add(site, std::int64_t{to});
  }
  Tables tables;
  tables.put(table.take());
  return tables;
}

using Values = std::vector<std::int64_t>;

TEST(WrittenSites, TakeTheGreatestMarkAndTheSmallestRequestOfAllThatEnded) {
  const Table table =
      written_at_sites(replayed({{1, 100, 20, 5, 16}, {2, 300, 10, 0, 64}, {3, 4064, 7, 0, 16}}), sites());
  EXPECT_EQ(table["site_high_water_bytes"].ints, (Values{64, 64, 16}));
  EXPECT_EQ(table["site_requested_bytes"].ints, (Values{100, 100, 4064}));
  EXPECT_EQ(table["site_blocks"].doubles, (std::vector<double>{50, 50, 14}));  // weighed
}

TEST(WrittenSites, CountBlocksThatLivedAtTheEndWhereTheExitIsKnown) {
  const Table table = written_at_sites(replayed({{1, 100, 20, 5, 16}, {2, 8, 4, 4, 0}}, true), sites());
  EXPECT_EQ(table["site_blocks"].doubles, (std::vector<double>{48, 48}));
  EXPECT_EQ(table["site_requested_bytes"].ints, (Values{8, 8}));
}

TEST(WrittenSites, CountBlocksOfWhichLessThanSixTenthsWereWritten) {
  const Table table = written_at_sites(replayed({{1, 100, 20, 5, 16}, {2, 100, 10, 0, 90}}), sites());
  EXPECT_EQ(table["site_narrow_blocks"].doubles, (std::vector<double>{30, 30}));
}

TEST(WrittenSites, CountBlocksWithoutARowAsWrittenToTheirEnd) {
  const Table table = written_at_sites(replayed({{1, 100, 20, 0, 16}, {2, 90, 1, 0, -1}, {2, 8, 4, 4, -1}}), sites());
  EXPECT_EQ(table["site_high_water_bytes"].ints, Values{90});
  EXPECT_EQ(table["site_requested_bytes"].ints, Values{90});  // the one of 8 never ended
}

TEST(WrittenSites, TakeAnEmptyRecording) { EXPECT_EQ(written_at_sites(replayed({}), sites()).rows(), 0u); }

}  // namespace
}  // namespace tare::core
