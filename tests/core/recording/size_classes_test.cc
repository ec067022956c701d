// The table of size classes: the model that fits is picked, any can be asked for, each size is priced once.
#include "core/recording/size_classes.h"

#include <gtest/gtest.h>

#include "made_up_tables.h"

namespace tare::core {
namespace {

Tables recorded(const std::string& allocator, const std::vector<MadeUpShape>& shapes) {
  Tables tables;
  tables.put(process_of(allocator));
  tables.put(site_sizes_of(shapes));
  return tables;
}

TEST(SizeClasses, PickTheModelWhoseSizesWereMeasured) {
  EXPECT_EQ(model_of(recorded("glibc", {{0, 24, 24, 9}, {0, 32, 40, 9}}))->name, "glibc");
  EXPECT_EQ(model_of(recorded("jemalloc", {{0, 1025, 1280, 9}, {0, 24, 32, 1}}))->name, "jemalloc");
  EXPECT_EQ(model_of(recorded("jemalloc", {{0, 1025, 2048, 9}, {0, 24, 32, 1}}))->name, "jemalloc-2011");
}

TEST(SizeClasses, KnowNoModelWhereNoneFits) {
  EXPECT_EQ(model_of(recorded("unknown", {{0, 24, 24, 9}})), nullptr);
  EXPECT_EQ(model_of(recorded("glibc", {{0, 24, 4096, 9}, {0, 24, 24, 1}})), nullptr);
  const auto table = size_classes_table(recorded("unknown", {{0, 24, 24, 9}}), "");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows(), 0u);
}

TEST(SizeClasses, LeaveAlignedBlocksOutOfTheJudgement) {
  EXPECT_NE(model_of(recorded("glibc", {{0, 24, 24, 1}, {0, 100, 4000, 1000, 0, 4096}})), nullptr);
}

TEST(SizeClasses, PriceThePostsRequestsUnderItsAllocator) {
  const auto table = size_classes_table(
      recorded("glibc", {{0, 24, 24, 1}, {1, 24, 24, 1}, {0, 680, 696, 1}, {0, 1025, 1032, 1}, {0, 4135, 4136, 1}}),
      "jemalloc-2011");
  ASSERT_TRUE(table);
  EXPECT_EQ((*table)["requested_bytes"].ints, (std::vector<std::int64_t>{24, 680, 1025, 4135}));
  EXPECT_EQ((*table)["usable_bytes"].ints, (std::vector<std::int64_t>{32, 1024, 2048, 8192}));
  EXPECT_EQ((*table)["class_below_bytes"].ints, (std::vector<std::int64_t>{16, 512, 1024, 4096}));
  EXPECT_EQ((*table)["clownshoe"].ints, (std::vector<std::int64_t>{0, 0, 1, 1}));
}

TEST(SizeClasses, NameTheModelsToSomeoneWhoAsksForAnother) {
  const auto table = size_classes_table(recorded("glibc", {}), "malloc9000");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind, ErrorKind::Usage);
  EXPECT_NE(table.error().message.find("jemalloc-2011"), std::string::npos);
}

}  // namespace
}  // namespace tare::core
