// Large arrays remember by parts where young objects were stored into them.
#include <vector>

#include <gtest/gtest.h>

#include "tare/gc/explicit.h"
#include "young_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

struct Lists : GarbageCollected<Lists, Group> {
  struct Counted {
    Link<Leaf> leaf;
    void trace(Visitor& visitor) const {
      ++traced;
      visitor.trace(leaf);
    }
    static inline std::size_t traced = 0;
  };
  void trace(Visitor& visitor) const {
    visitor.trace(vector);
    visitor.trace(counted);
    visitor.trace(weak);
    visitor.trace(deque);
    visitor.trace(map);
  }
  HeapVector<Link<Leaf>, Group> vector;
  HeapVector<Counted, Group> counted;
  HeapVector<WeakLink<Leaf>, Group> weak;
  HeapDeque<Link<Leaf>, Group> deque;
  HeapHashMap<Link<Leaf>, WeakLink<Leaf>, Group> map;
};

class YoungInParts : public Young {
 protected:
  static constexpr std::size_t kSize = 5000;

  YoungInParts() {
    lists_ = make_one<Lists>();
    for (std::size_t i = 0; i < kSize; ++i) {
      EXPECT_TRUE(lists_->vector.push_back(heap_, nullptr) && lists_->counted.push_back(heap_, {}) &&
                  lists_->weak.push_back(heap_, nullptr) && lists_->deque.push_back(heap_, nullptr));
    }
    for (std::size_t i = 0; i < kSize / 2; ++i) {  // its ring no longer begins where its array does
      lists_->deque.take_front();
      EXPECT_TRUE(lists_->deque.push_back(heap_, nullptr));
    }
    while (lists_->map.size() < kSize) EXPECT_TRUE(lists_->map.insert(heap_, leaf(0), nullptr));
    collect_young();
  }

  Persistent<Lists> lists_;
};

TEST_F(YoungInParts, LiveWhereverTheyWereStored) {
  const std::size_t before = live();
  std::vector<std::size_t> places{0, 1, 125, 126, 127, 128, 253, 254, 255, kSize - 2, kSize - 1};
  for (std::size_t i = 300; i < kSize - 300; i += 331) places.push_back(i);
  for (const std::size_t i : places) {
    lists_->vector[i] = leaf(static_cast<int>(i));
    lists_->counted[i].leaf = leaf(static_cast<int>(i));
    lists_->deque[i] = leaf(static_cast<int>(i));
    lists_->weak[i] = leaf(-1);
    if (i % 2 == 0) lists_->weak[i] = lists_->vector[i];
  }
  EXPECT_EQ(remembered(), 0u);
  EXPECT_GE(heap_.use().remembered_parts, 4 * 10u);
  collect_young();
  EXPECT_EQ(heap_.use().remembered_parts, 0u);
  EXPECT_EQ(live(), before + 3 * places.size());
  for (const std::size_t i : places) {
    EXPECT_EQ(lists_->vector[i]->value, static_cast<int>(i));
    EXPECT_EQ(lists_->counted[i].leaf->value, static_cast<int>(i));
    EXPECT_EQ(lists_->deque[i]->value, static_cast<int>(i));
    EXPECT_EQ(lists_->weak[i], i % 2 == 0 ? lists_->vector[i].get() : nullptr);
  }
}

TEST_F(YoungInParts, LiveAsKeysAndDieAsWeakValuesOfALargeTable) {
  const std::size_t before = live();
  std::vector<Leaf*> keys;
  for (int i = 0; i < 500; ++i) {  // there's room for as many
    keys.push_back(leaf(i));
    EXPECT_TRUE(lists_->map.insert(heap_, keys.back(), i % 2 == 0 ? keys.back() : leaf(-1)));
  }
  EXPECT_EQ(remembered(), 0u);
  collect_young();
  EXPECT_EQ(live(), before + 500);
  for (int i = 0; i < 500; ++i) {
    Leaf* key = keys[static_cast<std::size_t>(i)];
    ASSERT_TRUE(lists_->map.contains(key));
    EXPECT_EQ(*lists_->map.find(key), i % 2 == 0 ? key : nullptr);
  }
}

// That is traced whole, as its call-back is for all of it.
TEST_F(YoungInParts, DieAsWeakKeysOfALargeTable) {
  const Persistent<Holder> holder = make_one<Holder>();
  std::vector<Persistent<Leaf>> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.emplace_back(leaf(i));
    EXPECT_TRUE(holder->by_weak.insert(heap_, keys.back().get(), nullptr));
  }
  collect_young();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(holder->by_weak.insert(heap_, leaf(-1), leaf(-2)));
  EXPECT_TRUE(holder->by_weak.insert(heap_, keys[0].get(), leaf(3)));
  collect_young();
  EXPECT_EQ(holder->by_weak.size(), 1000u);
  EXPECT_EQ(holder->by_weak.find(keys[0].get())->get()->value, 3);
}

TEST_F(YoungInParts, LeaveTheRestOfAnArrayUntraced) {
  for (int round = 0; round < 100; ++round) lists_->counted[777].leaf = leaf(round);
  EXPECT_EQ(heap_.use().remembered_parts, 1u);
  Lists::Counted::traced = 0;
  collect_young();
  EXPECT_GE(Lists::Counted::traced, kSize + 1);  // by the verifier, which traces all
  EXPECT_LE(Lists::Counted::traced, kSize + 512 / sizeof(Lists::Counted));
}

// Arrays whose cells meet within 512 bytes.
TEST_F(YoungInParts, LiveInNeighboursThatShareOne) {
  std::vector<Persistent<Lists>> all;
  for (int i = 0; i < 64; ++i) {
    all.emplace_back(make_one<Lists>());
    EXPECT_TRUE(all.back()->vector.resize(heap_, 700));
  }
  collect_young();
  for (const auto& lists : all) {
    lists->vector[699] = leaf(1);
    lists->vector[0] = leaf(2);
    lists->vector[350] = leaf(3);
  }
  collect_young();
  for (const auto& lists : all) {
    EXPECT_EQ(lists->vector[0]->value + lists->vector[350]->value + lists->vector[699]->value, 6);
  }
}

TEST_F(YoungInParts, AreManyInFewOrFewInMany) {
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < kSize; i += 7) lists_->vector[i] = leaf(round);
  }
  EXPECT_LE(heap_.use().remembered_parts, 256u);  // 40 parts of which each was stored into again and again
  collect_young();
  for (std::size_t i = 0; i < kSize; i += 7) EXPECT_EQ(lists_->vector[i]->value, 19);
}

TEST_F(YoungInParts, AreForgottenWithTheArray) {
  EXPECT_TRUE(lists_->vector.resize(heap_, 50'000));  // a page of its own
  EXPECT_TRUE(lists_->counted.resize(heap_, 3000));
  collect_young();
  const std::size_t before = live();
  lists_->vector[44'444] = leaf(1);
  lists_->counted[2222].leaf = leaf(2);
  EXPECT_EQ(heap_.use().remembered_parts, 2u);
  lists_->vector.clear(heap_);
  EXPECT_EQ(heap_.use().remembered_parts, 1u);
  lists_->counted.clear(heap_);
  // In their place.
  EXPECT_TRUE(lists_->counted.resize(heap_, kSize) && lists_->vector.resize(heap_, kSize));
  lists_->counted[2222].leaf = leaf(3);
  lists_->vector[1].clear();
  collect_young();
  EXPECT_EQ(lists_->counted[2222].leaf->value, 3);
  EXPECT_EQ(live(), before + 1);
}

TEST_F(YoungInParts, KeepNothingAliveWhereAnotherArrayLiesByNow) {
  const Persistent<Lists> lists = make_one<Lists>();
  EXPECT_TRUE(lists->vector.resize(heap_, 1500));
  collect_young();
  const std::size_t before = live();
  Link<Leaf>* place = &lists->vector[777];
  *place = leaf(1);
  EXPECT_EQ(heap_.use().remembered_parts, 1u);
  lists->vector.clear(heap_);
  Lists* dead = make_one<Lists>();
  EXPECT_TRUE(dead->vector.resize(heap_, 1500));
  ASSERT_EQ(&dead->vector[777], place);
  dead->vector[777] = leaf(2);
  collect_young();
  EXPECT_EQ(live(), before - 1);
}

}  // namespace
}  // namespace tare::gc
