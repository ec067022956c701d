#include "tare/internal/gc/cell.h"

#include <gtest/gtest.h>

namespace tare::gc {
namespace {

TEST(Cell, IsTheLeastThatFits) {
  for (std::size_t bytes = 1; bytes <= cell::kMost; ++bytes) {
    const std::size_t found = cell::class_of(bytes);
    ASSERT_LT(found, cell::kClasses);
    ASSERT_GE(cell::bytes_of(found), bytes);
    ASSERT_TRUE(found == 0 || cell::bytes_of(found - 1) < bytes);
  }
}

TEST(Cell, WastesAnEighthAtMost) {
  for (std::size_t i = 1; i < cell::kClasses; ++i) {
    const std::size_t step = cell::bytes_of(i) - cell::bytes_of(i - 1);
    EXPECT_EQ(cell::bytes_of(i) % 8, 0u);
    if (cell::bytes_of(i) <= cell::kMostFine) continue;
    EXPECT_LE(step * 8, cell::bytes_of(i - 1));
    EXPECT_EQ(cell::bytes_of(i) % 16, 0u);
  }
}

TEST(Cell, OfAnElementOfFiveLinksHas32Bytes) {
  EXPECT_EQ(cell::bytes_of(cell::class_of(cell::bytes_for(28, 4))), 32u);
  EXPECT_EQ(cell::bytes_of(cell::class_of(cell::bytes_for(8, 4))), 16u);
  EXPECT_EQ(cell::bytes_for(20, 16) % 16, 0u);
}

}  // namespace
}  // namespace tare::gc
