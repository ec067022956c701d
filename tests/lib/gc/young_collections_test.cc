// Collections of young objects alone: when they run, and what is being made, finalized or moved meanwhile.
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tare/gc/explicit.h"
#include "young_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

// ---- where old ones were

// Cells of what was old: who lies there now isn't.
TEST_F(Young, LieWhereOldOnesDied) {
  std::vector<Persistent<Leaf>> kept;
  for (int i = 0; i < 10'000; ++i) {
    Leaf* made = leaf(i);
    if (i % 10 != 0) kept.emplace_back(made);
  }
  collect_young();
  std::vector<Persistent<Leaf>> stay;
  for (std::size_t i = 0; i < kept.size(); i += 100) stay.emplace_back(kept[i]);
  kept.clear();
  collect();
  EXPECT_EQ(live(), stay.size());
  const std::size_t pages = heap_.use().page_bytes;
  std::vector<WeakPersistent<Leaf>> young;
  for (int i = 0; i < 8000; ++i) {
    Leaf* made = leaf(i);
    made->next = leaf(-i);
    young.emplace_back(made);
  }
  EXPECT_LE(heap_.use().page_bytes, pages + (std::size_t{128} << 10));
  EXPECT_EQ(remembered(), 0u);
  const Persistent<Leaf> one = young[7].get();
  collect_young();
  EXPECT_EQ(live(), stay.size() + 2);
  EXPECT_EQ(one->next->value, -7);
}

// A constructor that collects.
struct SlowYoung : GarbageCollected<SlowYoung, Group> {
  explicit SlowYoung(const std::function<void(SlowYoung&)>& build) { build(*this); }
  void trace(Visitor& visitor) const {
    visitor.trace(first);
    visitor.trace(second);
    visitor.trace(weak);
    visitor.trace(inner);
  }
  Link<Leaf> first, second;
  WeakLink<Leaf> weak;
  Link<SlowYoung> inner;
};

class YoungInConstruction : public Young, public ::testing::WithParamInterface<std::tuple<bool, StackState>> {
 protected:
  // By way of a root where the stack isn't looked at.
  void collect_first(SlowYoung& slow) {
    const auto [is_whole, stack] = GetParam();
    Persistent<SlowYoung> self;
    if (stack == StackState::HoldsNone) self = &slow;
    is_whole ? heap_.collect(stack) : static_cast<void>(heap_.collect_young(stack));
  }
  void collect_next(SlowYoung& slow) {
    const StackState stack = std::get<1>(GetParam());
    Persistent<SlowYoung> self;
    if (stack == StackState::HoldsNone) self = &slow;
    EXPECT_TRUE(heap_.collect_young(stack));
  }
};

TEST_P(YoungInConstruction, AreFollowedByEachCollectionUntilTheyAreMade) {
  Persistent<SlowYoung> made = make_one<SlowYoung>([&](SlowYoung& slow) {
    slow.first = leaf(1);
    collect_first(slow);
    EXPECT_EQ(slow.first->value, 1);
    slow.second = leaf(2);
    slow.weak = leaf(3);
    collect_next(slow);
    slow.first = leaf(4);
    collect_next(slow);
  });
  collect_young();
  EXPECT_EQ(made->first->value, 4);
  EXPECT_EQ(made->second->value, 2);
  EXPECT_EQ(made->weak->value, 3);  // taken for strong meanwhile, and old by now
  made->second = leaf(5);
  made->weak = leaf(6);
  collect_young();
  EXPECT_EQ(made->second->value, 5);
  EXPECT_EQ(made->weak, nullptr);
  // The whole heap's collection knows nothing of that any more.
  collect();
  EXPECT_EQ(live(), 3u);
  made = nullptr;
  collect();
  EXPECT_EQ(live(), 0u);
}

TEST_P(YoungInConstruction, MayBeMadeInOthersConstructors) {
  const Persistent<SlowYoung> made = make_one<SlowYoung>([&](SlowYoung& outer) {
    outer.first = leaf(1);
    const Persistent<SlowYoung> keeps = &outer;
    outer.inner = make_one<SlowYoung>([&](SlowYoung& inner) {
      inner.first = leaf(2);
      outer.second = leaf(3);
      collect_first(inner);
      inner.second = leaf(4);
      outer.first = leaf(5);
      collect_next(inner);
    });
    collect_young();
  });
  collect_young();
  EXPECT_EQ(made->first->value, 5);
  EXPECT_EQ(made->second->value, 3);
  EXPECT_EQ(made->inner->first->value, 2);
  EXPECT_EQ(made->inner->second->value, 4);
  collect();
  EXPECT_EQ(live(), 6u);
}

INSTANTIATE_TEST_SUITE_P(Collections, YoungInConstruction,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(StackState::MayHoldPointers, StackState::HoldsNone)));

struct Ending : GarbageCollected<Ending, Group> {
  ~Ending() { ++destroyed; }
  void prefinalize() { ++prefinalized; }
  void trace(Visitor&) const {}
  static inline int destroyed = 0;
  static inline int prefinalized = 0;
};

TEST_F(Young, AreFinalizedWhenTheyDieAndTheOldAreNot) {
  Ending::destroyed = Ending::prefinalized = 0;
  std::vector<Persistent<Ending>> kept;
  for (int i = 0; i < 100; ++i) kept.emplace_back(make_one<Ending>());
  collect_young();
  kept.resize(50);
  for (int i = 0; i < 30; ++i) static_cast<void>(make_one<Ending>());
  collect_young();
  heap_.finish_sweeping();
  EXPECT_EQ(Ending::prefinalized, 30);
  EXPECT_EQ(Ending::destroyed, 30);
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(Ending::prefinalized, 80);
  EXPECT_EQ(Ending::destroyed, 80);
  heap_ = Heap();
  EXPECT_EQ(Ending::prefinalized, 130);
  EXPECT_EQ(Ending::destroyed, 130);
}

TEST_F(Young, AreNotCollectedWhileTheWholeHeapIsBeingMarked) {
  Holder* holder = make_old<Holder>();
  Leaf* last = leaf(0);
  holder->member = last;
  for (int i = 1; i < 5000; ++i) {
    last->next = leaf(i);
    last = last->next.get();
  }
  collect_young();
  EXPECT_FALSE(heap_.collect_some(0, StackState::HoldsNone));
  ASSERT_TRUE(heap_.use().is_marking);
  EXPECT_FALSE(heap_.collect_young(StackState::HoldsNone));
  holder->other = leaf(-1);  // what is made meanwhile is old in the end
  EXPECT_EQ(remembered(), 0u);
  while (!heap_.collect_some(0, StackState::HoldsNone)) {
  }
  EXPECT_EQ(holder->other->value, -1);
  EXPECT_EQ(live(), 5002u);
  holder->other = leaf(-2);
  EXPECT_EQ(remembered(), 1u);
  // Marking that is thrown away forgets who was old.
  EXPECT_FALSE(heap_.collect_some(0, StackState::HoldsNone));
  holder->other = leaf(-3);
  collect();
  EXPECT_EQ(live(), 5002u);
  collect_young();
  EXPECT_EQ(holder->other->value, -3);
}

// Which takes the marks that said who was old.
TEST_F(Young, AreAllOnceTheHeapWasCompacted) {
  Holder* holder = make_old<Holder>();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(holder->vector.push_back(heap_, leaf(i)));
  collect_young();
  heap_.compact(StackState::HoldsNone);
  holder->member = leaf(1000);
  holder->vector[50] = leaf(1001);
  EXPECT_EQ(remembered(), 0u);
  static_cast<void>(leaf(0));
  collect_young();
  EXPECT_EQ(live(), 103u);  // who was replaced is gone as well
  EXPECT_EQ(holder->member->value, 1000);
  EXPECT_EQ(holder->vector[50]->value, 1001);
  holder->member = leaf(1002);
  EXPECT_EQ(remembered(), 1u);
  collect_young();
  EXPECT_EQ(holder->member->value, 1002);
}

TEST_F(Young, AreCollectedByThemselvesAndTheWholeHeapWhereItHasGrown) {
  HeapOptions options;
  options.young_bytes = std::size_t{256} << 10;
  options.least_growth_bytes = std::size_t{2} << 20;
  options.marking = Marking::AtOnce;
  remake(options);
  old_ = make_one<Holder>();
  for (int i = 0; i < 200'000; ++i) static_cast<void>(leaf(i));
  const HeapUse of_garbage = heap_.use();
  EXPECT_GE(of_garbage.young_collections, 10u);
  EXPECT_EQ(of_garbage.young_collections, of_garbage.collections);
  EXPECT_LE(of_garbage.page_bytes + of_garbage.pooled_bytes, std::size_t{2} << 20);
  for (int i = 0; i < 200'000; ++i) {
    Leaf* head = leaf(i);
    head->next = old_->member;
    old_->member = i % 50'000 == 0 ? nullptr : head;  // lists that grow old, and die
  }
  const HeapUse of_lists = heap_.use();
  EXPECT_GT(of_lists.collections - of_lists.young_collections, 0u);
  EXPECT_GT(of_lists.young_collections, of_garbage.young_collections);
  EXPECT_LE(of_lists.page_bytes, std::size_t{8} << 20);
}

// The same with budgets: where the young aren't enough the whole heap is collected before anybody gets null.
TEST_F(Young, MakeRoomForEachOtherAsLongAsSomethingIsDead) {
  HeapOptions options;
  options.young_bytes = std::size_t{64} << 10;
  options.budget_bytes = std::size_t{2} << 20;
  remake(options);
  old_ = make_one<Holder>();
  for (int i = 0; i < 300'000; ++i) {
    Leaf* head = leaf(i);
    ASSERT_NE(head, nullptr) << i;
    head->next = old_->member;
    old_->member = i % 10'000 == 0 ? nullptr : head;
  }
}

// ---- by every decoding

template <class SomeGroup>
struct KnotOf : GarbageCollected<KnotOf<SomeGroup>, SomeGroup> {
  void trace(Visitor& visitor) const {
    visitor.trace(next);
    visitor.trace(wide);
  }
  Member<KnotOf, SomeGroup> next;
  UncompressedMember<KnotOf, SomeGroup> wide;
};

template <class SomeGroup>
class YoungOf : public ::testing::Test {};
using EveryYoungDecoding = ::testing::Types<GenerationalGroup, GenerationalSeedGroup, GenerationalLowGroup>;
TYPED_TEST_SUITE(YoungOf, EveryYoungDecoding);

// Cells of all sizes: their old places are all of their bytes, wherever in 16 they begin.
template <class SomeGroup, std::size_t kBytes>
struct Padded : KnotOf<SomeGroup> {
  char bytes[kBytes];
  Member<KnotOf<SomeGroup>, SomeGroup> last;
  void trace(Visitor& visitor) const {
    KnotOf<SomeGroup>::trace(visitor);
    visitor.trace(last);
  }
};

template <class SomeGroup, std::size_t kBytes>
void remember_last_of(HeapOf<SomeGroup>& heap) {
  using Node = Padded<SomeGroup, kBytes>;
  std::vector<Persistent<Node>> old;
  for (int i = 0; i < 40; ++i) old.emplace_back(make<Node>(heap));
  ASSERT_TRUE(heap.collect_young(StackState::HoldsNone));
  const std::size_t before = heap.use().live_objects;
  for (const auto& one : old) {
    if constexpr (kBytes % 3 == 0) {
      one->last = make<KnotOf<SomeGroup>>(heap);
    } else {
      one->next = make<KnotOf<SomeGroup>>(heap);
    }
  }
  EXPECT_EQ(heap.use().remembered_objects, 40u) << kBytes;
  ASSERT_TRUE(heap.collect_young(StackState::HoldsNone));
  EXPECT_EQ(heap.use().live_objects, before + 40) << kBytes;
}

TYPED_TEST(YoungOf, OldObjectsOfEverySizeRemember) {
  HeapOptions options;
  options.collections = Collections::ByHand;
  options.verifies = true;
  CageResult<HeapOf<TypeParam>> made = HeapOf<TypeParam>::create(options);
  if (!made) GTEST_SKIP() << describe(made.error());
  HeapOf<TypeParam> heap = std::move(made.value());
  remember_last_of<TypeParam, 1>(heap);
  remember_last_of<TypeParam, 6>(heap);
  remember_last_of<TypeParam, 9>(heap);
  remember_last_of<TypeParam, 12>(heap);
  remember_last_of<TypeParam, 18>(heap);
  remember_last_of<TypeParam, 25>(heap);
  remember_last_of<TypeParam, 30>(heap);
  remember_last_of<TypeParam, 99>(heap);
  remember_last_of<TypeParam, 300>(heap);
  remember_last_of<TypeParam, 1000>(heap);
  remember_last_of<TypeParam, 3000>(heap);
  remember_last_of<TypeParam, 9999>(heap);
  remember_last_of<TypeParam, 30'000>(heap);
  remember_last_of<TypeParam, 99'999>(heap);
}

}  // namespace
}  // namespace tare::gc
