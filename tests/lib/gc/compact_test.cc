// Arrays that move together, and those that must stay.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "groups.h"
#include "heap_fixture.h"
#include "tare/gc/cross_thread_persistent.h"
#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"

namespace tare::gc {
namespace {

using namespace testing;

// A container of each kind, one of them in what malloc gave, and one in another's array.
struct Box : GarbageCollected<Box> {
  explicit Box(int n) : number(n), aside(new HeapVector<Member<Box>>) {}
  ~Box() = default;
  void trace(Visitor& visitor) const {
    visitor.trace(numbers);
    visitor.trace(boxes);
    visitor.trace(queue);
    visitor.trace(table);
    visitor.trace(nested);
    visitor.trace(*aside);
  }
  int number;
  HeapVector<int> numbers;
  HeapVector<Member<Box>> boxes;
  HeapDeque<Member<Box>> queue;
  HeapHashMap<WeakMember<Box>, Member<Box>> table;
  HeapVector<HeapVector<int>> nested;
  std::unique_ptr<HeapVector<Member<Box>>> aside;
};

class CompactTest : public HeapTest {
 protected:
  CompactTest() { remake({.collections = Collections::ByHand}); }

  // Of `count` boxes with arrays every `step`-th lives on.
  [[gnu::noinline]] void fragment(int count, std::size_t step) {
    for (int i = 0; i < count; ++i) {
      Box* box = make_one<Box>(i);
      fill(box);
      if (static_cast<std::size_t>(i) % step == 0) {
        ASSERT_TRUE(kept_.push_back(heap_, box));
      }
    }
    collect();
    heap_.finish_sweeping();
  }
  void fill(Box* box) {
    for (int k = 0; k < 20; ++k) {
      ASSERT_TRUE(box->numbers.push_back(heap_, 100 * box->number + k));
      ASSERT_TRUE(box->queue.push_front(heap_, box));
    }
    for (int k = 0; k < 10; ++k) {
      ASSERT_TRUE(box->boxes.push_back(heap_, box));
      ASSERT_TRUE(box->aside->push_back(heap_, box));
    }
    ASSERT_TRUE(box->table.insert(heap_, box, box));
    ASSERT_TRUE(box->nested.resize(heap_, 5));
    for (int k = 0; k < 5; ++k) ASSERT_TRUE(box->nested[static_cast<std::size_t>(k)].resize(heap_, 30));
    for (int k = 0; k < 5; ++k) box->nested[static_cast<std::size_t>(k)][29] = box->number + k;
  }
  [[gnu::noinline]] void check() {
    for (const Member<Box>& box : kept_) {
      ASSERT_EQ(box->numbers.size(), 20u);
      for (std::size_t k = 0; k < 20; ++k) {
        ASSERT_EQ(box->numbers[k], 100 * box->number + static_cast<int>(k));
        ASSERT_EQ(box->queue[k], box);
      }
      for (std::size_t k = 0; k < 10; ++k) {
        ASSERT_EQ(box->boxes[k], box);
        ASSERT_EQ((*box->aside)[k], box);
      }
      ASSERT_EQ(*box->table.find(box.get()), box);
      for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(box->nested[k][29], box->number + static_cast<int>(k));
    }
  }
  // The addresses of the arrays of numbers.
  [[gnu::noinline]] std::vector<std::uintptr_t> places() const {
    std::vector<std::uintptr_t> found;
    for (const Member<Box>& box : kept_) found.push_back(~reinterpret_cast<std::uintptr_t>(box->numbers.data()));
    return found;
  }

  RootedVector<Member<Box>> kept_;
};
using Compacting = CompactTest;

TEST_F(Compacting, AnEmptyHeapIsNothing) {
  EXPECT_EQ(heap_.compact(StackState::HoldsNone), 0u);
  EXPECT_EQ(heap_.use().page_bytes, 0u);
}

TEST_F(Compacting, WhatIsAllAliveMovesNothing) {
  fragment(2'000, 1);
  const std::vector<std::uintptr_t> before = places();
  heap_.compact(StackState::HoldsNone);
  // At most the last pages of two are one.
  std::size_t moved = 0;
  const std::vector<std::uintptr_t> after = places();
  for (std::size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? 1 : 0;
  EXPECT_LT(moved, 600u);
  check();
}

TEST_F(Compacting, WhatIsAllDeadIsGone) {
  fragment(2'000, 1);
  kept_.clear(heap_);
  heap_.compact(StackState::HoldsNone);
  heap_.finish_sweeping();
  EXPECT_EQ(live(), 0u);
  EXPECT_LE(heap_.use().page_bytes, 65'536u) << "the boxes' first, which waits for others";
}

TEST_F(Compacting, EmptiesPagesThatHaveFewArrays) {
  fragment(4'000, 10);
  const std::size_t objects = live();
  const std::size_t before = heap_.use().page_bytes;
  const std::size_t freed = heap_.compact(StackState::HoldsNone);
  EXPECT_EQ(heap_.use().page_bytes, before - freed);
  EXPECT_GT(freed, before / 2);
  EXPECT_EQ(live(), objects);
  check();
  EXPECT_EQ(heap_.compact(StackState::HoldsNone), 0u) << "twice";
  check();
  // And they work on.
  for (const Member<Box>& box : kept_) {
    ASSERT_TRUE(box->numbers.push_back(heap_, 7));
    ASSERT_TRUE(box->table.insert(heap_, kept_[0].get(), box.get()));
    box->numbers.pop_back();
  }
  collect();
  EXPECT_EQ(live(), objects);
  check();
}

// Containers in arrays that move, too: in either order.
TEST_F(Compacting, MovesContainersInArraysAndTheirArrays) {
  struct Tower : GarbageCollected<Tower> {
    void trace(Visitor& visitor) const { visitor.trace(levels); }
    HeapVector<HeapVector<HeapVector<int>>> levels;
  };
  RootedVector<Member<Tower>> towers;
  constexpr std::size_t kWide = 6;
  for (int i = 0; i < 3'000; ++i) {
    Tower* tower = make_one<Tower>();
    ASSERT_TRUE(tower->levels.resize(heap_, kWide));
    for (auto& level : tower->levels) {
      ASSERT_TRUE(level.resize(heap_, kWide));
      for (auto& numbers : level) ASSERT_TRUE(numbers.push_back(heap_, i));
    }
    if (i % 7 == 0) {
      ASSERT_TRUE(towers.push_back(heap_, tower));
    }
  }
  EXPECT_GT(heap_.compact(StackState::HoldsNone), std::size_t{1} << 20);
  for (std::size_t i = 0; i < towers.size(); ++i) {
    for (auto& level : towers[i]->levels) {
      ASSERT_EQ(level.size(), kWide);
      for (auto& numbers : level) ASSERT_EQ(numbers[0], static_cast<int>(7 * i));
    }
  }
  collect();
}

TEST_F(Compacting, LeavesWhatTheStackPointsInto) {
  fragment(4'000, 10);
  const std::vector<std::uintptr_t> before = places();
  int* volatile element = &kept_[kept_.size() - 3]->numbers[11];
  const int* const begin = kept_[5]->numbers.begin();
  heap_.compact(StackState::MayHoldPointers);
  EXPECT_EQ(*element, 100 * kept_[kept_.size() - 3]->number + 11);
  EXPECT_EQ(element, &kept_[kept_.size() - 3]->numbers[11]);
  EXPECT_EQ(begin, kept_[5]->numbers.begin());
  EXPECT_TRUE(places() != before) << "others move";
  check();
}

// Second pointers to arrays, which no containers have. Of each kind alone: one array that stays keeps a page.
using Numbers = VectorArray<int, DefaultGroup>;
struct Spy : GarbageCollected<Spy> {
  void trace(Visitor& visitor) const {
    visitor.trace(member);
    visitor.trace(wide);
    visitor.trace(weak);
    visitor.trace_ephemeron(key, value);
  }
  Member<Numbers> member;
  UncompressedMember<Numbers> wide;
  WeakMember<Numbers> weak;
  WeakMember<Spy> key;
  Member<Numbers> value;
};

TEST_F(Compacting, LeavesWhatOthersPointTo) {
  std::vector<Persistent<Spy>> spies;
  std::vector<Persistent<Numbers>> roots;
  std::vector<WeakPersistent<Numbers>> weak_roots;
  std::vector<CrossThreadPersistent<Numbers>> far;
  const auto spy = [&]() -> Spy& { return *spies.emplace_back(make_one<Spy>()); };
  const std::pair<const char*, std::function<void(Numbers*)>> kinds[] = {
      {"a Member", [&](Numbers* array) { spy().member = array; }},
      {"an UncompressedMember", [&](Numbers* array) { spy().wide = array; }},
      {"a WeakMember", [&](Numbers* array) { spy().weak = array; }},
      {"an ephemeron",
       [&](Numbers* array) {
         Spy& one = spy();
         one.key = &one;
         one.value = array;
       }},
      {"a root", [&](Numbers* array) { roots.emplace_back(array); }},
      {"a weak root", [&](Numbers* array) { weak_roots.emplace_back(array); }},
      {"a thread's root", [&](Numbers* array) { far.emplace_back(array); }},
  };
  for (const auto& [name, point] : kinds) {
    SCOPED_TRACE(name);
    kept_.clear(heap_);
    fragment(4'000, 10);
    for (const Member<Box>& box : kept_) {
      point(reinterpret_cast<Numbers*>(reinterpret_cast<char*>(box->numbers.data()) - sizeof(Numbers)));
    }
    const std::vector<std::uintptr_t> before = places();
    EXPECT_GT(heap_.compact(StackState::HoldsNone), std::size_t{1} << 19) << "others move";
    EXPECT_TRUE(places() == before);
    check();
    spies.clear();
    roots.clear();
    weak_roots.clear();
    far.clear();
    heap_.compact(StackState::HoldsNone);
    EXPECT_TRUE(places() != before);
    check();
  }
}

// Its value isn't kept, and may point to a free cell of a page that is emptied.
TEST_F(Compacting, DropsPagesWithoutTheMarksOfEphemeronsThatHaveNoKey) {
  std::vector<Persistent<Spy>> spies;
  fragment(4'000, 5);
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (i % 2 == 0) continue;
    Spy& spy = *spies.emplace_back(make_one<Spy>());
    spy.value = reinterpret_cast<Numbers*>(reinterpret_cast<char*>(kept_[i]->numbers.data()) - sizeof(Numbers));
    kept_.erase(i);
  }
  collect();
  heap_.finish_sweeping();
  EXPECT_GT(heap_.compact(StackState::HoldsNone), std::size_t{1} << 19);
  for (Persistent<Spy>& spy : spies) spy->value = nullptr;
  // The pages' next cells have another size.
  std::vector<Persistent<Box>> others;
  for (int i = 0; i < 4'000; ++i) {
    Box& box = *others.emplace_back(make_one<Box>(i));
    ASSERT_TRUE(box.numbers.resize(heap_, 31));
  }
  collect();
  check();
}

TEST_F(Compacting, LeavesElementsWithDestructorsWhereTheyAre) {
  struct Texts : GarbageCollected<Texts> {
    void trace(Visitor& visitor) const { visitor.trace(texts); }
    HeapVector<std::string> texts;
  };
  RootedVector<Member<Texts>> all;
  for (int i = 0; i < 5'000; ++i) {
    Texts* texts = make_one<Texts>();
    for (int k = 0; k < 3; ++k)
      ASSERT_TRUE(texts->texts.push_back(heap_, std::string(static_cast<std::size_t>(k), 'x')));
    if (i % 10 == 0) {
      ASSERT_TRUE(all.push_back(heap_, texts));
    }
  }
  std::vector<const std::string*> places;
  for (const auto& texts : all) places.push_back(texts->texts.begin());
  heap_.compact(StackState::HoldsNone);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->texts.begin(), places[i]);
    EXPECT_EQ(all[i]->texts[2], "xx");
  }
}

TEST_F(Compacting, LeavesWhatIsInConstruction) {
  struct Building : GarbageCollected<Building> {
    Building(Heap& heap, Heap& again) {
      if (!numbers.resize(heap, 20)) std::abort();
      numbers[7] = 42;
      const int* before = numbers.data();
      again.compact(StackState::MayHoldPointers);
      EXPECT_EQ(numbers.data(), before);
    }
    void trace(Visitor& visitor) const { visitor.trace(numbers); }
    HeapVector<int> numbers;
  };
  fragment(4'000, 10);
  const Persistent<Building> building = make_one<Building>(heap_, heap_);
  EXPECT_EQ(building->numbers[7], 42);
  heap_.compact(StackState::HoldsNone);
  EXPECT_EQ(building->numbers[7], 42);
  check();
}

TEST_F(Compacting, IsNothingWhereCollectionsAreForbidden) {
  fragment(2'000, 10);
  {
    const NoCollectionScope scope(heap_);
    EXPECT_EQ(heap_.compact(StackState::HoldsNone), 0u);
  }
  const DisallowCollectionScope scope(heap_);
  EXPECT_DEATH(static_cast<void>(heap_.compact(StackState::HoldsNone)), "a collection in a DisallowCollectionScope");
}

TEST_F(Compacting, EndsMarkingThatWasUnderWay) {
  remake({.collections = Collections::ByHand, .marking = Marking::Concurrent, .pause_goal_ns = 0});
  fragment(4'000, 10);
  for (int i = 0; i < 3; ++i) {
    heap_.collect_some(0, StackState::HoldsNone);
    heap_.compact(StackState::HoldsNone);
    EXPECT_FALSE(heap_.use().is_marking);
    check();
  }
}

// The bits of an array's place change by the same step in each scheme.
template <class Group>
class CompactingEvery : public ::testing::Test {};
using Groups = ::testing::Types<SplitGroup, SeedGroup, Seed16Group, LowGroup, ThreadBaseGroup, ShiftlessGroup>;
TYPED_TEST_SUITE(CompactingEvery, Groups);

TYPED_TEST(CompactingEvery, DecodingFindsArraysAgain) {
  struct Row : GarbageCollected<Row, TypeParam> {
    void trace(Visitor& visitor) const { visitor.trace(numbers); }
    HeapVector<int, TypeParam> numbers;
  };
  CageResult<HeapOf<TypeParam>> made = HeapOf<TypeParam>::create({.collections = Collections::ByHand});
  if (!made) GTEST_SKIP() << describe(made.error());
  HeapOf<TypeParam> heap = std::move(made.value());
  std::vector<Persistent<Row>> rows;
  for (int i = 0; i < 20'000; ++i) {
    Row* row = make<Row>(heap);
    for (int k = 0; k < 10; ++k) ASSERT_TRUE(row->numbers.push_back(heap, i + k));
    if (i % 9 == 0) rows.emplace_back(row);
  }
  EXPECT_GT(heap.compact(StackState::HoldsNone), std::size_t{256} << 10);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < 10; ++k) ASSERT_EQ(rows[i]->numbers[k], static_cast<int>(9 * i + k));
  }
}

}  // namespace
}  // namespace tare::gc
