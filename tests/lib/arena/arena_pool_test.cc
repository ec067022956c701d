// Calls of a named arena to the recorder. This program has a recorder of its own: it checks every word.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tare/arena.h"
#include "tare/reporter.h"

namespace {

struct Told {
  std::string name;
  std::map<std::uintptr_t, std::size_t> memory;
  std::map<std::uintptr_t, std::size_t> blocks;
  int wrong = 0;
  bool destroyed = false;
} told;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void grow(uint64_t pool, std::uintptr_t memory, size_t bytes) {
  told.wrong += pool != 7 || !told.memory.emplace(memory, bytes).second;
}
void shrink(uint64_t, std::uintptr_t memory) { told.wrong += told.memory.erase(memory) != 1; }
void alloc(uint64_t pool, std::uintptr_t block, size_t bytes) {
  const auto piece = told.memory.upper_bound(block);
  const bool inside =
      piece != told.memory.begin() && block + bytes <= std::prev(piece)->first + std::prev(piece)->second;
  told.wrong += pool != 7 || !inside || !told.blocks.emplace(block, bytes).second;
}
void free_block(uint64_t, std::uintptr_t block) { told.wrong += told.blocks.erase(block) != 1; }

}  // namespace

extern "C" {
// The name by which tare/reporter.h finds a recorder.
[[gnu::visibility("default")]] struct tare_recorder_v1 tare_recorder_v1 = {sizeof(struct tare_recorder_v1),
                                                                           0,
                                                                           nullptr,
                                                                           nullptr,
                                                                           [](const char* name) {
                                                                             told = {};
                                                                             told.name = name;
                                                                             return uint64_t{7};
                                                                           },
                                                                           grow,
                                                                           shrink,
                                                                           alloc,
                                                                           free_block,
                                                                           nullptr,
                                                                           [](uint64_t) { told.destroyed = true; },
                                                                           nullptr,
                                                                           nullptr,
                                                                           nullptr};
}

namespace tare {
namespace {

TEST(ArenaPool, EveryBlockIsToldAndEnds) {
  {
    Arena arena(ArenaOptions{.name = "scratch"});
    std::mt19937 random(1);
    struct Moment {
      Arena::Mark mark;
      std::map<std::uintptr_t, std::size_t> blocks;
    };
    std::vector<Moment> moments{{arena.mark(), {}}};
    for (int step = 0; step < 30'000; ++step) {
      const std::size_t dice = random() % 1000;
      if (dice < 980) {
        const std::size_t bytes = 1 + random() % (dice < 970 ? 100 : 50'000);
        void* block = arena.allocate(bytes, std::size_t{1} << random() % 8);
        ASSERT_EQ(told.blocks.at(number(block)), bytes);
      } else if (dice < 990) {
        moments.push_back({arena.mark(), told.blocks});
      } else if (dice < 992) {
        arena.rewind(moments.back().mark);
        ASSERT_EQ(told.blocks, moments.back().blocks);
        if (moments.size() > 1) moments.pop_back();
      }
      const ArenaUse use = arena.use();
      std::size_t memory = 0;
      for (const auto& [at, bytes] : told.memory) memory += bytes;
      ASSERT_EQ(memory, use.committed_bytes);
      ASSERT_EQ(use.committed_bytes, use.header_bytes + use.used_bytes + use.slack_bytes);
    }
    EXPECT_GT(told.blocks.size(), 8192u) << "more than one piece of the log";
    EXPECT_EQ(told.name, "scratch");
    Arena moved = std::move(arena);
    moved.reset(ArenaReset::Keep);
    EXPECT_TRUE(told.blocks.empty());
    EXPECT_EQ(told.memory.size(), 1u);
    ASSERT_NE(moved.allocate(10), nullptr);
    EXPECT_EQ(told.blocks.size(), 1u);
    EXPECT_FALSE(told.destroyed);
  }
  EXPECT_TRUE(told.blocks.empty());
  EXPECT_TRUE(told.memory.empty());
  EXPECT_TRUE(told.destroyed);
  EXPECT_EQ(told.wrong, 0);
}

TEST(ArenaPool, RecordingChangesNoChunk) {
  std::vector<std::size_t> sizes[2];
  for (const char* name : {static_cast<const char*>(nullptr), "told"}) {
    Arena arena(ArenaOptions{.name = name});
    for (std::size_t i = 0; i < 20'000; ++i) {
      ASSERT_NE(arena.allocate(1 + i * 7919 % 3000), nullptr);
      sizes[name != nullptr].push_back(arena.use().committed_bytes);
    }
  }
  EXPECT_EQ(sizes[0], sizes[1]);
}

TEST(ArenaPool, ArenasWithoutANameTellNothing) {
  told = {};
  Arena arena;
  ASSERT_NE(arena.allocate(10), nullptr);
  EXPECT_TRUE(told.memory.empty());
}

}  // namespace
}  // namespace tare
