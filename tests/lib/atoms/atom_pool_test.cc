// Calls of a table to the recorder. This program has a recorder of its own, which checks every word.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tare/atom_table.h"
#include "tare/reporter.h"

namespace {

struct Told {
  std::mutex mutex;
  std::string name;
  std::map<std::uintptr_t, std::size_t> memory;
  std::map<std::uintptr_t, std::size_t> blocks;
  int wrong = 0;
  bool is_destroyed = false;
} told;

uint64_t create(const char* name) {
  const std::lock_guard<std::mutex> lock(told.mutex);
  told.name = name;
  told.is_destroyed = false;
  return 3;
}
void grow(uint64_t pool, std::uintptr_t memory, size_t bytes) {
  const std::lock_guard<std::mutex> lock(told.mutex);
  told.wrong += pool != 3 || !told.memory.emplace(memory, bytes).second;
}
void shrink(uint64_t pool, std::uintptr_t memory) {
  const std::lock_guard<std::mutex> lock(told.mutex);
  const auto piece = told.memory.find(memory);
  told.wrong += pool != 3 || piece == told.memory.end();
  if (piece == told.memory.end()) return;
  const auto left = told.blocks.lower_bound(memory);
  told.wrong += left != told.blocks.end() && left->first < memory + piece->second;  // blocks end before their memory
  told.memory.erase(piece);
}
void alloc(uint64_t pool, std::uintptr_t block, size_t bytes) {
  const std::lock_guard<std::mutex> lock(told.mutex);
  const auto piece = told.memory.upper_bound(block);
  const bool is_inside =
      piece != told.memory.begin() && block + bytes <= std::prev(piece)->first + std::prev(piece)->second;
  told.wrong += pool != 3 || !is_inside || !told.blocks.emplace(block, bytes).second;
}
void free_block(uint64_t pool, std::uintptr_t block) {
  const std::lock_guard<std::mutex> lock(told.mutex);
  told.wrong += pool != 3 || told.blocks.erase(block) != 1;
}
void destroy(uint64_t) {
  const std::lock_guard<std::mutex> lock(told.mutex);
  told.is_destroyed = true;
}

}  // namespace

extern "C" {
// The name by which tare/reporter.h finds a recorder.
[[gnu::visibility("default")]] struct tare_recorder_v1 tare_recorder_v1 = {sizeof(struct tare_recorder_v1),
                                                                           0,
                                                                           nullptr,
                                                                           nullptr,
                                                                           create,
                                                                           grow,
                                                                           shrink,
                                                                           alloc,
                                                                           free_block,
                                                                           nullptr,
                                                                           destroy,
                                                                           nullptr,
                                                                           nullptr,
                                                                           nullptr};
}

namespace tare {
namespace {

std::size_t sum(const std::map<std::uintptr_t, std::size_t>& pieces) {
  std::size_t bytes = 0;
  for (const auto& [at, size] : pieces) bytes += size;
  return bytes;
}

TEST(AtomPool, EveryAtomIsToldAndEnds) {
  {
    AtomTable table({.unused_threshold = 500});
    EXPECT_EQ(told.name, "AtomTable");
    std::mt19937 random(5);
    std::vector<Atom> atoms;
    for (int step = 0; step < 40'000; ++step) {
      const std::size_t length = random() % 300 == 0 ? random() % 70'000 : random() % 40;
      atoms.push_back(table.intern(std::to_string(random() % 20'000) + std::string(length, 'p')));
      const auto block = reinterpret_cast<std::uintptr_t>(SharedHeader::before(atoms.back().characters()));
      ASSERT_EQ(told.blocks.count(block), 1U);
      if (random() % 3 != 0) atoms[random() % atoms.size()] = {};
      if (step % 5000 == 0) table.gc();
      if (step % 1000 == 0) {
        const AtomTableUse use = table.use();
        ASSERT_EQ(sum(told.memory), use.mapped_bytes);
        const std::size_t atom_bytes = use.header_bytes + use.character_bytes + use.padding_bytes;
        const std::size_t page_tables = use.table_bytes - use.malloc_bytes;
        ASSERT_EQ(sum(told.blocks), atom_bytes + page_tables);
      }
    }
    atoms.clear();
  }
  EXPECT_TRUE(told.is_destroyed);
  EXPECT_TRUE(told.blocks.empty());
  EXPECT_TRUE(told.memory.empty());
  EXPECT_EQ(told.wrong, 0);
}

TEST(AtomPool, ThreadsTellInOrder) {
  {
    AtomTable table({.unused_threshold = 100});
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) {
      threads.emplace_back([&table, i] {
        std::mt19937 random(i);
        std::vector<Atom> held(50);
        for (int step = 0; step < 20'000; ++step) held[random() % 50] = table.intern(std::to_string(random() % 3000));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_TRUE(told.blocks.empty());
  EXPECT_EQ(told.wrong, 0);
}

}  // namespace
}  // namespace tare
