// Slabs: where cells lie, and when a slab goes.
#include "allocator_replay/script/slabs.h"

#include <gtest/gtest.h>

#include <vector>

namespace tare::test {
namespace {

using core::Slabs;

constexpr Slabs::Pool kPool{.group = 1, .thread = 0, .cell_bytes = 1024};
constexpr std::uint32_t kCells = Slabs::kSlabBytes / 1024;

TEST(SlabsTest, RoundsToEightBytes) {
  EXPECT_EQ(Slabs::cell_bytes(0), 8u);
  EXPECT_EQ(Slabs::cell_bytes(1), 8u);
  EXPECT_EQ(Slabs::cell_bytes(24), 24u);
  EXPECT_EQ(Slabs::cell_bytes(25), 32u);
}

TEST(SlabsTest, FillsASlabBeforeTheNext) {
  Slabs slabs;
  EXPECT_FALSE(slabs.take(kPool));
  EXPECT_EQ(slabs.add_slab(kPool, 7).offset, 0u);
  for (std::uint32_t i = 1; i < kCells; ++i) EXPECT_EQ(slabs.take(kPool)->offset, 1024 * i);
  EXPECT_FALSE(slabs.take(kPool));
  EXPECT_FALSE(slabs.free_cell({0, 2048}, 0));
  EXPECT_EQ(slabs.take(kPool)->offset, 2048u);
  EXPECT_EQ(slabs.slot_of(0), 7u);
}

TEST(SlabsTest, KeepsOneEmptySlab) {
  Slabs slabs;
  std::vector<Slabs::Cell> cells;
  for (std::uint32_t slab = 0; slab < 3; ++slab) {
    cells.push_back(slabs.add_slab(kPool, 10 + slab));
    for (std::uint32_t i = 1; i < kCells; ++i) cells.push_back(*slabs.take(kPool));
  }
  std::vector<std::uint32_t> freed;
  for (const Slabs::Cell cell : cells)
    if (const auto slot = slabs.free_cell(cell, 0)) freed.push_back(*slot);
  EXPECT_EQ(freed, (std::vector<std::uint32_t>{11, 12}));
  EXPECT_EQ(slabs.take(kPool)->slab, 0u);
}

TEST(SlabsTest, OnlyTheOwnerFreesASlab) {
  Slabs slabs;
  const Slabs::Cell first = slabs.add_slab(kPool, 10);
  std::vector<Slabs::Cell> cells;
  for (std::uint32_t i = 1; i < kCells; ++i) cells.push_back(*slabs.take(kPool));
  const Slabs::Cell second = slabs.add_slab(kPool, 11);
  EXPECT_FALSE(slabs.free_cell(first, 1));
  for (const Slabs::Cell cell : cells) EXPECT_FALSE(slabs.free_cell(cell, 1));
  EXPECT_FALSE(slabs.take_empty(kPool)) << "the only empty one";
  EXPECT_FALSE(slabs.free_cell(second, 1));
  EXPECT_EQ(slabs.take_empty(kPool), 11u);
  EXPECT_FALSE(slabs.take_empty(kPool));
}

}  // namespace
}  // namespace tare::test
