// AddressMap: live blocks by address, compared with std::map over random calls.
#include "allocator_replay/script/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace tare::test {
namespace {

using core::AddressMap;

TEST(AddressMapTest, FindsAndTakesWhatWasPut) {
  AddressMap<int> map;
  EXPECT_EQ(map.find(0x1000), nullptr);
  EXPECT_FALSE(map.take(0x1000));
  map.put(0x1000, 1);
  map.put(0x1008, 2);  // in the same 16 bytes
  ASSERT_NE(map.find(0x1008), nullptr);
  EXPECT_EQ(*map.find(0x1008), 2);
  *map.find(0x1000) = 3;
  EXPECT_EQ(map.take(0x1000), 3);
  EXPECT_EQ(map.find(0x1000), nullptr);
  EXPECT_EQ(*map.find(0x1008), 2);
}

TEST(AddressMapTest, HoldsTheSameBlocksAsAStandardMap) {
  AddressMap<std::uint64_t> map;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const std::uint64_t address = 0x7f00'0000'0000 + random() % 20'000 * 8;
    map.prefetch_number(address);
    map.prefetch_block(address);
    const auto known = model.find(address);
    if (known == model.end()) {
      ASSERT_EQ(map.find(address), nullptr);
      map.put(address, i);
      model.emplace(address, i);
    } else {
      ASSERT_EQ(map.take(address), known->second);
      model.erase(known);
    }
  }
  std::vector<std::uint64_t> found, expected;
  map.for_each([&](std::uint64_t& block) { found.push_back(block); });
  for (const auto& [address, block] : model) expected.push_back(block);
  std::ranges::sort(found);
  std::ranges::sort(expected);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tare::test
