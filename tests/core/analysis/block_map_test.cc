// The shadow map against a hash table, at its borders, and when it gives leaves back.
#include "core/analysis/block_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <unordered_map>

namespace tare::core {
namespace {

constexpr std::uint64_t live_word(std::uint64_t value) { return value << 32 | 0x40000000; }

TEST(BlockMap, NothingIsThereAtFirst) {
  BlockMap map;
  EXPECT_EQ(map.find(0x555555550010), nullptr);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(~0ull), nullptr);
}

TEST(BlockMap, NeighboursOf8And1BytesDoNotShareASlot) {
  BlockMap map;
  for (std::uint64_t i = 0; i < 64; ++i) map.claim(0x10000 + i) = live_word(i);
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(*map.find(0x10000 + i), live_word(i));
  std::uint64_t seen = 0;
  map.for_each_live([&](std::uint64_t address, std::uint64_t word) {
    EXPECT_EQ(word, live_word(address - 0x10000));
    ++seen;
  });
  EXPECT_EQ(seen, 64u);
}

TEST(BlockMap, WorksAtTheEndsOfTheAddressSpace) {
  BlockMap map;
  const std::uint64_t addresses[] = {0, 8, 16, 0xfff0, 0x7ffffffffff0, 0xfffffffffff0, 0xffffffffffff};
  for (std::uint64_t address : addresses) map.claim(address) = live_word(address & 0xffffffff);
  for (std::uint64_t address : addresses) {
    ASSERT_NE(map.find(address), nullptr) << address;
    EXPECT_EQ(*map.find(address), live_word(address & 0xffffffff));
  }
  std::map<std::uint64_t, std::uint64_t> seen;
  map.for_each_live([&](std::uint64_t address, std::uint64_t word) { seen[address] = word; });
  EXPECT_EQ(seen.size(), std::size(addresses));
  for (std::uint64_t address : addresses) EXPECT_TRUE(seen.count(address)) << address;
}

TEST(BlockMap, TombstonesStayWhileThereIsRoom) {
  BlockMap map;
  map.claim(0x10010) = live_word(1);
  *map.find(0x10010) = BlockMap::kGone;
  EXPECT_EQ(*map.find(0x10010), BlockMap::kGone);
  map.claim(0x10020) = live_word(2);
  EXPECT_EQ(*map.find(0x10010), BlockMap::kGone);
}

TEST(BlockMap, FindsTheLastLiveBlockUntilAnAddress) {
  BlockMap map;
  EXPECT_EQ(map.last_live_until(0x10000), std::nullopt);
  map.claim(0x10010) = live_word(1);
  map.claim(0x10028) = live_word(2);
  map.claim(0x10040) = BlockMap::kGone;
  EXPECT_EQ(map.last_live_until(0x10008), std::nullopt);
  EXPECT_EQ(map.last_live_until(0x10010), 0x10010u);
  EXPECT_EQ(map.last_live_until(0x10020), 0x10010u);
  EXPECT_EQ(map.last_live_until(0x10028), 0x10028u);
  EXPECT_EQ(map.last_live_until(0x10050), 0x10028u) << "the one at 0x10040 has ended";
  EXPECT_EQ(map.last_live_until(0x10028 + BlockMap::kFarthestBytes), 0x10028u);
  EXPECT_EQ(map.last_live_until(0x10028 + 2 * BlockMap::kFarthestBytes), std::nullopt);
}

TEST(BlockMap, FindsTheLastLiveBlockLikeAnOrderedMap) {
  std::mt19937_64 random(7);
  BlockMap map;
  std::map<std::uint64_t, bool> blocks;
  for (int i = 0; i < 20'000; ++i) {
    // Pages with many blocks, with few, and regions with none.
    const std::uint64_t page = random() % 4 == 0 ? random() % 8 : random() % 40'000;
    const std::uint64_t address = 0x7f00'0000'0000 + page * 4096 + random() % 512 * 8;
    const bool is_live = random() % 4 != 0;
    if (is_live || blocks.count(address) != 0) {
      map.claim(address) = is_live ? live_word(1) : BlockMap::kGone;
      if (is_live) {
        blocks[address] = true;
      } else {
        blocks.erase(address);
      }
    }
    const std::uint64_t asked = 0x7f00'0000'0000 + random() % 50'000 * 4096 + random() % 512 * 8;
    const auto above = blocks.upper_bound(asked);
    const auto found = map.last_live_until(asked);
    if (above == blocks.begin()) {
      ASSERT_EQ(found, std::nullopt);
    } else {
      ASSERT_EQ(found, std::prev(above)->first);
    }
    const std::uint64_t end = asked + random() % (random() % 2 == 0 ? 256 : 64 << 20);
    ASSERT_EQ(map.has_live_in(asked, end), blocks.lower_bound(asked) != blocks.lower_bound(end));
  }
}

TEST(BlockMap, SearchesTerabytesWithoutBlocks) {
  BlockMap map;
  map.claim(0x7f00'0000'0008) = live_word(1);
  EXPECT_FALSE(map.has_live_in(0x1000, 0x7f00'0000'0008));
  EXPECT_TRUE(map.has_live_in(0x1000, 0x7f00'0000'0009));
  EXPECT_FALSE(map.has_live_in(0x7f00'0000'0009, 0x7fff'ffff'f000));
  EXPECT_FALSE(map.has_live_in(0x7f00'0000'0008, 0x7f00'0000'0008));
}

class RandomMaps : public testing::TestWithParam<unsigned> {};

TEST_P(RandomMaps, AnswersLikeAHashTable) {
  std::mt19937_64 random(GetParam());
  BlockMap map;
  std::unordered_map<std::uint64_t, std::uint64_t> expected;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t page = 0x7f0000000000 + (random() % 64) * 0x1000 * (1 + 1000 * (random() % 2));
    const std::uint64_t address = page + random() % 256 * (random() % 3 == 0 ? 16 : 256) % 4096;
    if (random() % 3 == 0) {
      std::uint64_t* word = map.find(address);
      const auto found = expected.find(address);
      ASSERT_EQ(word && BlockMap::is_live(*word), found != expected.end());
      if (found == expected.end()) continue;
      ASSERT_EQ(*word, found->second);
      *word = BlockMap::kGone;
      expected.erase(found);
    } else {
      std::uint64_t& word = map.claim(address);
      ASSERT_EQ(BlockMap::is_live(word), expected.count(address) == 1);
      word = expected[address] = live_word(static_cast<std::uint64_t>(i));
    }
  }
  std::size_t seen = 0;
  map.for_each_live([&](std::uint64_t address, std::uint64_t word) {
    ++seen;
    EXPECT_EQ(expected.at(address), word);
  });
  EXPECT_EQ(seen, expected.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMaps, testing::Range(0u, 4u));

// A heap that moves through the address space leaves emptied pages behind; their leaves must come back.
TEST(BlockMap, MemoryFollowsLiveBlocksNotAddressesSeen) {
  BlockMap map;
  constexpr std::uint64_t kPages = 200'000;  // 800 MB of addresses: 400 MB if all leaves stayed
  for (std::uint64_t page = 0; page < kPages; ++page) {
    const std::uint64_t base = 0x7f0000000000 + page * 4096;
    for (std::uint64_t i = 0; i < 32; ++i) map.claim(base + i * 128) = live_word(page);
    for (std::uint64_t i = 1; i < 32; ++i) *map.find(base + i * 128) = BlockMap::kGone;
  }
  EXPECT_LT(map.memory_bytes(), 100u << 20);
  for (std::uint64_t page = 0; page < kPages; ++page) {
    ASSERT_EQ(*map.find(0x7f0000000000 + page * 4096), live_word(page));
  }
}

TEST(BlockMap, LonelyBlocksCostLittle) {
  BlockMap map;
  for (std::uint64_t i = 0; i < 100'000; ++i) map.claim(0x7f0000000010 + i * 65536) = live_word(i);
  EXPECT_LT(map.memory_bytes() / 100'000, 256u);
}

}  // namespace
}  // namespace tare::core
