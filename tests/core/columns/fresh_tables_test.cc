// Tables are returned for their own path only, and replaced by larger ones.
#include "core/columns/fresh_tables.h"

#include <gtest/gtest.h>

#include <memory>

namespace tare::core {
namespace {

std::shared_ptr<const Tables> tables_of(int shapes) {
  TableBuilder sizes("site_sizes");
  const auto id = sizes.column("size_id", ColumnType::Int64);
  for (int i = 0; i < shapes; ++i) sizes.add(id, std::int64_t{i});
  Tables tables;
  tables.put(sizes.take());
  return std::make_shared<const Tables>(std::move(tables));
}

TEST(FreshTables, AreReturnedForTheirPathOnly) {
  const auto made = tables_of(3);
  FreshTables fresh;
  EXPECT_EQ(fresh.of("a.tare"), nullptr);
  fresh.keep("a.tare", made);
  EXPECT_EQ(fresh.of("b.tare"), nullptr);
  EXPECT_EQ(fresh.of("a.tare"), made);
}

TEST(FreshTables, TheLargestOfSeveralStay) {
  const auto large = tables_of(9);
  FreshTables fresh;
  fresh.keep("small.tare", tables_of(2));
  fresh.keep("large.tare", large);
  fresh.keep("middle.tare", tables_of(5));
  EXPECT_EQ(fresh.of("middle.tare"), nullptr);
  EXPECT_EQ(fresh.of("large.tare"), large);
}

TEST(FreshTables, ThoseOfTheSamePathAreReplaced) {
  const auto later = tables_of(1);
  FreshTables fresh;
  fresh.keep("same.tare", tables_of(4));
  fresh.keep("same.tare", later);
  EXPECT_EQ(fresh.of("same.tare"), later);
}

}  // namespace
}  // namespace tare::core
