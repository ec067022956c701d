// What is kept is given once, to its own path only, and gives way to larger tables.
#include "core/columns/fresh_tables.h"

#include <gtest/gtest.h>

#include <memory>

namespace tare::core {
namespace {

std::shared_ptr<const Tables> tables_of(int shapes) {
  TableBuilder sizes("site_sizes");
  const auto id = sizes.column("shape_id", ColumnType::Int64);
  for (int i = 0; i < shapes; ++i) sizes.add(id, std::int64_t{i});
  Tables tables;
  tables.put(sizes.take());
  return std::make_shared<const Tables>(std::move(tables));
}

TEST(FreshTables, AreGivenOnceAndToTheirPathOnly) {
  const auto made = tables_of(3);
  fresh_tables::keep("a.tare", made);
  EXPECT_EQ(fresh_tables::take("b.tare"), nullptr);
  EXPECT_EQ(fresh_tables::take("a.tare"), made);
  EXPECT_EQ(fresh_tables::take("a.tare"), nullptr);
}

TEST(FreshTables, TheLargestOfSeveralStay) {
  const auto large = tables_of(9);
  fresh_tables::keep("small.tare", tables_of(2));
  fresh_tables::keep("large.tare", large);
  fresh_tables::keep("middle.tare", tables_of(5));
  EXPECT_EQ(fresh_tables::take("middle.tare"), nullptr);
  EXPECT_EQ(fresh_tables::take("large.tare"), large);
}

TEST(FreshTables, ThoseOfTheSamePathAreReplaced) {
  const auto later = tables_of(1);
  fresh_tables::keep("same.tare", tables_of(4));
  fresh_tables::keep("same.tare", later);
  EXPECT_EQ(fresh_tables::take("same.tare"), later);
}

}  // namespace
}  // namespace tare::core
