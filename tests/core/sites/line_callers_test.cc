// Sums of callers are those of the stacks, and frames of an interpreter are passed over.
#include "core/sites/line_callers.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/recording/made_up_tables.h"

namespace tare::core {
namespace {

using trace::RowId;

struct Node {
  std::int64_t caller;
  std::int64_t location;
};

// Locations from 10 on belong to Python's module. Stack 0 is the empty one.
Tables stacks_of(const std::vector<Node>& nodes, std::int64_t locations) {
  Tables tables;
  TableBuilder stacks("stacks");
  const auto caller = stacks.column("caller_id", ColumnType::Int64);
  const auto location = stacks.column("location_id", ColumnType::Int64);
  for (const Node& node : nodes) {
    stacks.add(caller, node.caller);
    stacks.add(location, node.location);
  }
  tables.put(stacks.take());
  TableBuilder rows("locations");
  const auto module = rows.column("module_id", ColumnType::Int64);
  for (std::int64_t row = 0; row < locations; ++row) {
    if (row == 0) {
      rows.add_null(module);
    } else {
      rows.add(module, std::int64_t{row >= 10 ? 1 : 0});
    }
  }
  tables.put(rows.take());
  TableBuilder modules("modules");
  const auto module_id = modules.column("module_id", ColumnType::Int64);
  const auto path = modules.column("path", ColumnType::String);
  for (const std::string_view each : {"/bin/app", "[python]"}) {
    modules.add(module_id, static_cast<std::int64_t>(each == "[python]"));
    modules.add(path, each);
  }
  tables.put(modules.take());
  return tables;
}

// Site i is stack i, named by its location.
Tables sites_at(const std::vector<Node>& nodes) {
  TableBuilder sites("sites");
  const auto site_id = sites.column("site_id", ColumnType::Int64);
  const auto stack_id = sites.column("stack_id", ColumnType::Int64);
  const auto line = sites.column("site_location_id", ColumnType::Int64);
  TableBuilder stacks("stack_sites");
  const auto stack = stacks.column("stack_id", ColumnType::Int64);
  const auto site = stacks.column("site_id", ColumnType::Int64);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    sites.add(site_id, id);
    sites.add(stack_id, id);
    if (i == 0) {
      sites.add_null(line);
    } else {
      sites.add(line, nodes[i].location);
    }
    stacks.add(stack, id);
    stacks.add(site, id);
  }
  Tables tables;
  tables.put(sites.take());
  tables.put(stacks.take());
  return tables;
}

TEST(LineCallers, AddsUpTheStacksOfACaller) {
  // copy (1) is called by parse (2) in two stacks, by print (3) in one, and ends a stack
  const std::vector<Node> nodes = {{0, 0}, {0, 2}, {0, 4}, {2, 2}, {1, 1}, {3, 1}, {0, 3}, {6, 1}, {0, 1}};
  Tables tables = stacks_of(nodes, 5);
  tables.put(site_sizes_of({{4, 24, 24, 10, 5},
                            {4, 40, 40, 1, 0},
                            {5, 24, 24, 2, 1, 0, 2.0},
                            {7, 24, 24, 3, 3},
                            {8, 24, 24, 1, 0},
                            {1, 8, 24, 9, 9}}));
  const std::array lines = {RowId{1}};
  EXPECT_EQ(line_callers(tables, sites_at(nodes), lines),
            (std::vector<LineCaller>{{RowId{1}, std::nullopt, 0, 1},
                                     {RowId{1}, RowId{2}, 32 * 5 + 32 * 2.0, 11 + 4.0},
                                     {RowId{1}, RowId{3}, 32 * 3, 3}}));
  EXPECT_TRUE(line_callers(tables, sites_at(nodes), {}).empty());
}

TEST(LineCallers, StacksOfOneSiteHaveTheirOwnCallers) {
  // copy (1), in which malloc's wrapper (4) allocates, is called by parse (2) and by print (3), which copy calls, too
  const std::vector<Node> nodes = {{0, 0}, {0, 2}, {1, 1}, {2, 4}, {0, 3}, {4, 1}, {5, 4}, {2, 3}, {7, 1}};
  Tables tables = stacks_of(nodes, 5);
  tables.put(site_sizes_of({{3, 24, 24, 2, 1}, {6, 24, 24, 5, 4}, {8, 24, 24, 1, 0}}));
  TableBuilder sites("sites");
  const auto site_id = sites.column("site_id", ColumnType::Int64);
  const auto stack_id = sites.column("stack_id", ColumnType::Int64);
  const auto line = sites.column("site_location_id", ColumnType::Int64);
  sites.add(site_id, std::int64_t{0});
  sites.add(stack_id, std::int64_t{2});  // of the first
  sites.add(line, std::int64_t{1});
  TableBuilder of_stacks("stack_sites");
  const auto stack = of_stacks.column("stack_id", ColumnType::Int64);
  const auto site = of_stacks.column("site_id", ColumnType::Int64);
  for (const std::int64_t each : {3, 6, 8}) {
    of_stacks.add(stack, each);
    of_stacks.add(site, std::int64_t{0});
  }
  Tables named;
  named.put(sites.take());
  named.put(of_stacks.take());
  const std::array lines = {RowId{1}};
  EXPECT_EQ(line_callers(tables, named, lines),
            (std::vector<LineCaller>{{RowId{1}, RowId{2}, 32, 2}, {RowId{1}, RowId{3}, 32 * 4, 6}}));
}

TEST(LineCallers, TheCallerOfALineOfPythonIsTheNextOne) {
  // load (10) is called by the interpreter (1, 2), which runs main (11), which the interpreter runs
  const std::vector<Node> nodes = {{0, 0}, {0, 1}, {1, 11}, {2, 2}, {3, 1}, {4, 10}};
  Tables tables = stacks_of(nodes, 12);
  tables.put(site_sizes_of({{5, 24, 24, 1, 1}, {2, 24, 24, 1, 1}}));
  const std::array lines = {RowId{10}, RowId{11}};
  EXPECT_EQ(line_callers(tables, sites_at(nodes), lines),
            (std::vector<LineCaller>{{RowId{10}, RowId{11}, 32, 1}, {RowId{11}, std::nullopt, 32, 1}}));
}

}  // namespace
}  // namespace tare::core
