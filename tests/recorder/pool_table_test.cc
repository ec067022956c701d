// Pools of described allocators: numbers, trees, and the same from several threads.
#include "recorder/foreign/pool_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "recorder/reports/report.h"

namespace tare::recorder {
namespace {

std::uint64_t address_of(std::uint64_t which) { return 0x7f0000000000 + which * 1024; }

void end_all(PoolTable& table, std::uint32_t pool, std::uint64_t address, std::vector<std::uint32_t>& ended) {
  while (const std::uint32_t below = table.take_descendant(pool)) {
    ended.push_back(below);
    table.release(below);
  }
  ASSERT_TRUE(table.take(pool, address, table.generation(pool)));
  ended.push_back(pool);
  table.release(pool);
}

TEST(PoolTable, DescendantsEndBeforeTheirPool) {
  PoolTable table;
  const std::uint32_t top = table.add(address_of(0), 0);
  const std::uint32_t first = table.add(address_of(1), top);
  const std::uint32_t second = table.add(address_of(2), top);
  const std::uint32_t below = table.add(address_of(3), first);
  const std::uint32_t moved = table.add(address_of(4), second);
  table.move(moved, 0);
  table.move(top, below);  // would be a circle
  std::vector<std::uint32_t> ended;
  end_all(table, top, address_of(0), ended);
  EXPECT_EQ(std::set<std::uint32_t>(ended.begin(), ended.end()), (std::set{top, first, second, below}));
  EXPECT_EQ(ended.back(), top);
  EXPECT_LT(std::find(ended.begin(), ended.end(), below), std::find(ended.begin(), ended.end(), first));
  EXPECT_EQ(table.find(address_of(0)), 0u);
  EXPECT_EQ(table.find(address_of(4)), moved);
  table.forget_all();
  EXPECT_EQ(table.find(address_of(4)), 0u);
}

TEST(PoolTable, ANumberIsInUseByOnePool) {
  PoolTable table;
  const std::uint32_t wanted = table.add(address_of(7), 0);
  const std::uint32_t old = table.generation(wanted);
  std::vector<std::uint32_t> ended;
  end_all(table, wanted, address_of(7), ended);
  ASSERT_TRUE(take_pool_number(wanted));  // by a pool of tare/reporter.h
  const std::uint32_t other = table.add(address_of(7), 0);
  EXPECT_NE(other, wanted);
  EXPECT_EQ(table.find(address_of(7)), other);
  give_pool_number_back(wanted);
  const std::uint32_t again = table.add(address_of(8), 0);
  EXPECT_NE(again, other);
  EXPECT_FALSE(table.take(other, address_of(7), old));  // of an earlier pool
  table.forget_all();
}

TEST(PoolTable, FindsWhatAModelFinds) {
  PoolTable table;
  std::mt19937 random(5);
  std::map<std::uint64_t, std::uint32_t> model;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t address = address_of(random() % 3000 * 977);
    const auto known = model.find(address);
    ASSERT_EQ(table.find(address), known == model.end() ? 0 : known->second);
    if (known == model.end()) {
      model[address] = table.add(address, 0);
      ASSERT_NE(model[address], 0u);
    } else if (random() % 2 == 0) {
      std::vector<std::uint32_t> ended;
      end_all(table, known->second, address, ended);
      model.erase(known);
    }
  }
  table.forget_all();
}

TEST(PoolTable, IsFullOnceAndNotForEver) {
  PoolTable table;
  for (std::uint32_t i = 0; i < PoolTable::kMostPools; ++i) ASSERT_NE(table.add(address_of(i), 0), 0u);
  EXPECT_EQ(table.add(address_of(1'000'000), 0), 0u);
  std::vector<std::uint32_t> ended;
  end_all(table, table.find(address_of(5)), address_of(5), ended);
  EXPECT_NE(table.add(address_of(1'000'000), 0), 0u);
  table.forget_all();
}

TEST(PoolTable, ThreadsUseTheirOwnPoolsAtOnce) {
  PoolTable table;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t which = 0; which < 4; ++which) {
    threads.emplace_back([&table, &wrong, which] {
      for (std::uint64_t round = 0; round < 5000; ++round) {
        const std::uint64_t address = address_of(round % 64 * 8 + which);
        const std::uint32_t top = table.add(address, 0);
        const std::uint32_t below = table.add(address_of(1000 + which), top);
        table.note_block(below);
        const bool is_right = table.find(address) == top && table.find(address_of(1000 + which)) == below &&
                              table.take_blocks(below) && !table.take_blocks(below) && top != below;
        std::vector<std::uint32_t> ended;
        end_all(table, top, address, ended);
        if (!is_right || ended.size() != 2) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  table.forget_all();
}

}  // namespace
}  // namespace tare::recorder
