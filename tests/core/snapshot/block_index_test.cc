#include "core/snapshot/block_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace tare::core {
namespace {

LiveBlock block(std::uint64_t address, std::uint64_t usable) {
  LiveBlock one;
  one.address = address;
  one.requested_bytes = usable;
  one.usable_bytes = usable;
  return one;
}

TEST(BlockIndex, TellsStartInteriorAndOutside) {
  const std::vector<LiveBlock> blocks = {block(0x1000, 24), block(0x1020, 24), block(0x5000, 0x3000),
                                         block(0x900000, 8)};
  const BlockIndex index(blocks);
  const auto expect = [&](std::uint64_t address, std::uint32_t wanted, bool start) {
    const BlockIndex::Hit hit = index.find(address);
    EXPECT_EQ(hit.block, wanted) << std::hex << address;
    EXPECT_EQ(hit.is_start, start && wanted != BlockIndex::kNone) << std::hex << address;
  };
  expect(0x1000, 0, true);
  expect(0x1017, 0, false);
  expect(0x1018, BlockIndex::kNone, false);  // the header of the next
  expect(0x1020, 1, true);
  expect(0x4fff, BlockIndex::kNone, false);
  expect(0x5000, 2, true);
  expect(0x6800, 2, false);  // a page that no block begins in
  expect(0x7fff, 2, false);
  expect(0x8000, BlockIndex::kNone, false);
  expect(0x900000, 3, true);
  expect(0x900008, BlockIndex::kNone, false);
  expect(0, BlockIndex::kNone, false);
  expect(~std::uint64_t{0}, BlockIndex::kNone, false);
}

TEST(BlockIndex, AgreesWithASearchThroughAll) {
  std::vector<LiveBlock> blocks;
  std::uint64_t at = 0x7f0000000010;
  std::uint64_t seed = 1;
  const auto random = [&] { return seed = seed * 6364136223846793005u + 1442695040888963407u, seed >> 33; };
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t bytes = random() % 100 == 0 ? random() % 20000 : 8 + random() % 200;
    blocks.push_back(block(at, bytes));
    at += (bytes + 31) / 16 * 16 + (random() % 50 == 0 ? random() % 2000000 / 16 * 16 : 0);
  }
  const BlockIndex index(blocks);
  for (int i = 0; i < 20000; ++i) {
    const LiveBlock& near = blocks[random() % blocks.size()];
    const std::uint64_t address = near.address + random() % 300 - 100;
    std::uint32_t wanted = BlockIndex::kNone;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      if (address >= blocks[b].address && address < blocks[b].address + blocks[b].usable_bytes) wanted = b;
    }
    ASSERT_EQ(index.find(address).block, wanted) << std::hex << address;
  }
}

TEST(BlockIndex, TakesBlocksThatBeginAnywhere) {
  const std::vector<LiveBlock> blocks = {block(0x1001, 2), block(0x1003, 3), block(0x1010, 8)};
  const BlockIndex index(blocks);
  const std::vector<std::uint32_t> wanted = {BlockIndex::kNone, 0, 0, 1, 1, 1, BlockIndex::kNone};
  for (std::uint64_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(index.find(0x1000 + i).block, wanted[i]) << i;
  EXPECT_TRUE(index.find(0x1003).is_start);
  EXPECT_FALSE(index.find(0x1004).is_start);
  EXPECT_EQ(index.find(0x1010).block, 2u);
}

TEST(BlockIndex, OfNothingFindsNothing) { EXPECT_EQ(BlockIndex({}).find(0).block, BlockIndex::kNone); }

}  // namespace
}  // namespace tare::core
