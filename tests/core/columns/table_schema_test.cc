// The list of tables, and the weights that readers see.
#include "core/columns/table_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

namespace tare::core {
namespace {

TEST(TableSchema, HasEachTableAndColumnOnce) {
  std::set<std::string_view> tables;
  for (const TableSchema& table : table_schemas()) {
    EXPECT_TRUE(tables.insert(table.name).second) << table.name;
    std::set<std::string_view> columns;
    for (const ColumnSchema& column : table.columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << table.name << "." << column.name;
      EXPECT_FALSE(column.meaning.empty()) << table.name << "." << column.name;
    }
    const bool is_weighed =
        std::any_of(table.columns.begin(), table.columns.end(), [](auto& each) { return each.is_weighed(); });
    EXPECT_TRUE(!is_weighed || table.find("weight") != nullptr) << table.name;
  }
  EXPECT_EQ(find_table_schema("no such table"), nullptr);
}

TEST(TableSchema, HasAnotherFormForEachChangeOfTablesColumnsAndTypes) {
  const auto changed = [](auto change) {
    std::vector<TableSchema> tables = table_schemas();
    change(tables);
    return form_of(tables);
  };
  std::set<std::uint64_t> forms{form_of(table_schemas())};
  EXPECT_EQ(changed([](auto& tables) { tables[3].columns[1].meaning = "another"; }), *forms.begin());
  EXPECT_TRUE(forms.insert(changed([](auto& tables) { tables.pop_back(); })).second);
  EXPECT_TRUE(forms.insert(changed([](auto& tables) { tables[3].name = "another"; })).second);
  EXPECT_TRUE(forms.insert(changed([](auto& tables) { tables[3].columns.pop_back(); })).second);
  EXPECT_TRUE(forms.insert(changed([](auto& tables) { tables[3].columns[1].name = "another"; })).second);
  EXPECT_TRUE(forms.insert(changed([](auto& tables) { tables[3].columns[1].type = SchemaType::Text; })).second);
  EXPECT_TRUE(forms
                  .insert(changed([](auto& tables) {
                    tables[4].columns.insert(tables[4].columns.begin(), tables[3].columns.back());
                    tables[3].columns.pop_back();
                  }))
                  .second);
}

TEST(TableSchema, BuildersRejectOtherColumns) {
  TableBuilder sizes("site_sizes");
  EXPECT_DEATH(sizes.column("no_such_column"), "no_such_column");
  EXPECT_DEATH(sizes.column("size_id", ColumnType::Double), "size_id");
}

Table sizes_of(double weight) {
  TableBuilder sizes("site_sizes");
  const auto shape = sizes.column("size_id");
  const auto weights = sizes.column("weight");
  const auto peak = sizes.column("peak_blocks");
  const auto lifetime = sizes.column("lifetime_ns");
  sizes.add(shape, std::int64_t{7});
  sizes.add(weights, weight);
  sizes.add(peak, std::int64_t{3});
  sizes.add(lifetime, 10.0);
  return sizes.take();
}

TEST(Weighed, MultipliesCountsOfRecordedBlocksOnly) {
  const auto table = weighed(std::make_shared<const Table>(sizes_of(2.5)));
  EXPECT_EQ((*table)["size_id"].ints, std::vector<std::int64_t>{7});
  EXPECT_EQ((*table)["peak_blocks"].doubles, std::vector<double>{7.5});
  EXPECT_EQ((*table)["lifetime_ns"].doubles, std::vector<double>{25});
}

TEST(Weighed, CopiesNothingWithoutASample) {
  const auto table = std::make_shared<const Table>(sizes_of(1));
  EXPECT_EQ(weighed(table), table);
}

}  // namespace
}  // namespace tare::core
