// Calls of a heap to the recorder. This program has a recorder of its own: it checks every word.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heap_fixture.h"
#include "tare/gc/explicit.h"
#include "tare/gc/heap_vector.h"
#include "tare/reporter.h"

namespace {

struct Told {
  std::map<std::uintptr_t, std::size_t> memory;
  std::map<std::uintptr_t, std::size_t> blocks;
  int wrong = 0;
  bool is_destroyed = false;
  std::vector<std::pair<std::string, std::uint64_t>> amounts;

  std::size_t sum(const std::map<std::uintptr_t, std::size_t>& of) const {
    std::size_t bytes = 0;
    for (const auto& [at, each] : of) bytes += each;
    return bytes;
  }
} told;

void grow(uint64_t pool, std::uintptr_t memory, size_t bytes) {
  told.wrong += pool != 7 || !told.memory.emplace(memory, bytes).second;
}
void shrink(uint64_t, std::uintptr_t memory) { told.wrong += told.memory.erase(memory) != 1; }
void alloc(uint64_t, std::uintptr_t block, size_t bytes) {
  const auto piece = told.memory.upper_bound(block);
  const bool inside =
      piece != told.memory.begin() && block + bytes <= std::prev(piece)->first + std::prev(piece)->second;
  told.wrong += !inside || !told.blocks.emplace(block, bytes).second;
}
void free_block(uint64_t, std::uintptr_t block) { told.wrong += told.blocks.erase(block) != 1; }

}  // namespace

extern "C" {
// The name by which tare/reporter.h finds a recorder.
[[gnu::visibility("default")]] struct tare_recorder_v1 tare_recorder_v1 = {
    sizeof(struct tare_recorder_v1),
    0,
    nullptr,
    nullptr,
    [](const char*) {
      told = {};
      return uint64_t{7};
    },
    grow,
    shrink,
    alloc,
    free_block,
    nullptr,
    [](uint64_t) { told.is_destroyed = true; },
    nullptr,
    nullptr,
    [](const char* path, uint64_t amount) { told.amounts.emplace_back(path, amount); }};
}

namespace tare::gc {
namespace {

using namespace testing;

struct Finalized : GarbageCollected<Finalized> {
  ~Finalized() { ++count; }
  void trace(Visitor&) const {}
  static inline int count = 0;
};

using HeapPools = HeapTest;

TEST_F(HeapPools, APageIsABlock) {
  remake({});
  RootedVector<Member<Knot>> kept;
  for (int i = 0; i < 40'000; ++i) {
    Knot* knot = make_one<Knot>(i);
    if (i % 3 == 0) {
      ASSERT_TRUE(kept.push_back(heap_, knot));
    }
    static_cast<void>(make_one<Finalized>());
  }
  EXPECT_EQ(told.sum(told.blocks), heap_.use().page_bytes);
  EXPECT_EQ(told.sum(told.memory), heap_.use().page_bytes + heap_.use().pooled_bytes);
  kept.clear(heap_);
  for (int i = 0; i < 3; ++i) {
    collect();
    heap_.finish_sweeping();
  }
  EXPECT_EQ(told.sum(told.blocks), heap_.use().page_bytes);
  heap_.trim();
  EXPECT_EQ(told.sum(told.memory), heap_.use().page_bytes);
  EXPECT_EQ(told.wrong, 0);
  heap_ = Heap();
  EXPECT_TRUE(told.is_destroyed);
  EXPECT_TRUE(told.memory.empty());
  EXPECT_EQ(told.wrong, 0);
}

TEST_F(HeapPools, TypesAreToldWhereTheHeapHasGrown) {
  remake({.growth_percent = 100'000, .least_growth_bytes = std::size_t{1} << 30});  // collects when it is told to
  RootedVector<Member<Knot>> kept;
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(kept.push_back(heap_, make_one<Knot>(i)));
  for (int i = 0; i < 500; ++i) static_cast<void>(make_one<Finalized>());
  ASSERT_TRUE(told.amounts.empty());
  std::map<std::string, std::uint64_t> expected{{"tare::gc::Heap/7/pages", heap_.use().page_bytes}};
  heap_.for_each_type([&](const TypeUse& type) {
    expected["tare::gc::Heap/7/objects/" + std::string(type.name)] = type.objects;
    expected["tare::gc::Heap/7/cells/" + std::string(type.name)] = type.cell_bytes;
  });
  ASSERT_EQ(expected.at("tare::gc::Heap/7/objects/" + kKnotName), 20'000u);
  collect();
  EXPECT_EQ(told.amounts.at(0).first, "tare::gc::Heap/7/pages");
  EXPECT_EQ((std::map<std::string, std::uint64_t>(told.amounts.begin(), told.amounts.end())), expected);
  told.amounts.clear();
  collect();  // as large as before
  EXPECT_TRUE(told.amounts.empty());
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(kept.push_back(heap_, make_one<Knot>(i)));
  heap_ = Heap();
  ASSERT_FALSE(told.amounts.empty()) << "a heap that ends tells what it had";
}

TEST_F(HeapPools, AnObjectIsABlockIfThatIsAskedFor) {
  setenv("TARE_GC_RECORD", "objects", 1);
  remake({});
  unsetenv("TARE_GC_RECORD");
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) static_cast<void>(make_one<Knot>());
  EXPECT_EQ(heap_.use().page_bytes, std::size_t{64} << 10) << "cells of a page are used before another is taken";
  RootedVector<Member<Knot>> kept;
  ASSERT_TRUE(kept.resize(heap_, 500));
  for (int step = 0; step < 20'000; ++step) {
    Knot* knot = make_one<Knot>(step);
    ASSERT_TRUE(told.blocks.contains(reinterpret_cast<std::uintptr_t>(knot)));
    ASSERT_GE(told.blocks[reinterpret_cast<std::uintptr_t>(knot)], sizeof(Knot));
    switch (random() % 8) {
      case 0:
        kept[random() % kept.size()] = knot;
        break;
      case 1:
        if (!heap_.use().is_marking) {
          free_unreferenced(heap_, knot);
          ASSERT_FALSE(told.blocks.contains(reinterpret_cast<std::uintptr_t>(knot)));
        }
        break;
      case 2:
        static_cast<void>(make_one<Finalized>());
        break;
      case 3:
        if (step % 50 == 0)
          static_cast<void>(make<VectorArray<int, DefaultGroup>>(heap_, AdditionalBytes(100'000), 1U));
        break;
      default:
        break;
    }
    if (step % 1000 == 0) {
      collect();
      EXPECT_EQ(told.blocks.size(), live());
    }
  }
  EXPECT_EQ(told.wrong, 0);
  EXPECT_EQ(told.sum(told.memory), heap_.use().page_bytes + heap_.use().pooled_bytes);
  kept.clear(heap_);
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(told.blocks.size(), 0u);
  heap_ = Heap();
  EXPECT_TRUE(told.memory.empty());
  EXPECT_EQ(told.wrong, 0);
}

TEST_F(HeapPools, AnArrayThatMovesIsAnotherBlock) {
  struct Row : GarbageCollected<Row> {
    void trace(Visitor& visitor) const { visitor.trace(numbers); }
    HeapVector<int> numbers;
  };
  setenv("TARE_GC_RECORD", "objects", 1);
  remake({});
  unsetenv("TARE_GC_RECORD");
  std::vector<Persistent<Row>> rows;
  for (int i = 0; i < 10'000; ++i) {
    Row* row = make_one<Row>();
    ASSERT_TRUE(row->numbers.resize(heap_, 20));
    if (i % 10 == 0) rows.emplace_back(row);
  }
  EXPECT_GT(heap_.compact(StackState::HoldsNone), std::size_t{1} << 19);
  EXPECT_EQ(told.wrong, 0);
  EXPECT_EQ(told.blocks.size(), live());
  for (const Persistent<Row>& row : rows) {
    const auto array = reinterpret_cast<std::uintptr_t>(row->numbers.data()) - sizeof(VectorArray<int, DefaultGroup>);
    ASSERT_TRUE(told.blocks.contains(array));
  }
  heap_ = Heap();
  EXPECT_TRUE(told.memory.empty());
  EXPECT_EQ(told.wrong, 0);
}

}  // namespace
}  // namespace tare::gc
