// Marking by steps: what the program does between them, and how many there are.
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include "groups.h"
#include "heap_fixture.h"
#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/trace_std.h"

namespace tare::gc {
namespace {

using namespace testing;

// One place of each kind to store a pointer in.
struct Places : GarbageCollected<Places> {
  void trace(Visitor& visitor) const {
    visitor.trace(member);
    visitor.trace(other);
    visitor.trace(wide);
    visitor.trace(maybe);
    visitor.trace(either);
    visitor.trace(vector);
    visitor.trace(deque);
    visitor.trace(map);
    visitor.trace(set);
    visitor.trace(rest);
  }
  Member<Knot> member, other;
  UncompressedMember<Knot> wide;
  std::optional<Member<Knot>> maybe;
  std::variant<int, Member<Knot>> either;
  HeapVector<Member<Knot>> vector;
  HeapDeque<Member<Knot>> deque;
  HeapHashMap<Member<Knot>, Member<Knot>> map;
  HeapHashSet<Member<Knot>> set;
  Member<Knot> rest;
};

class MarkingTest : public HeapTest {
 protected:
  static constexpr int kLength = 3000;  // objects before the one that marking comes to last

  MarkingTest() {
    HeapOptions options;
    options.collections = Collections::ByHand;
    remake(options);
    places_ = make_one<Places>();
    fill();
  }

  // A list whose last points to the target.
  void fill() {
    const NoCollectionScope scope(heap_);
    places_->rest = make_one<Knot>(0);
    Knot* last = places_->rest.get();
    for (int i = 1; i < kLength; ++i) {
      last->left = make_one<Knot>(i);
      last = last->left.get();
    }
    last_ = last;
    last->right = make_one<Knot>(4711);
  }

  // Takes the target from where marking hasn't been yet, when it has been at `places_`.
  [[gnu::noinline]] Knot* take() {
    EXPECT_FALSE(heap_.collect_some(0, StackState::HoldsNone));
    EXPECT_TRUE(heap_.use().is_marking);
    Knot* target = last_->right.get();
    last_->right = nullptr;
    return target;
  }
  [[gnu::noinline]] void act(const std::function<void(Knot*)>& store) { store(take()); }

  void end_marking() {
    for (int i = 0; !heap_.collect_some(0, StackState::HoldsNone); ++i) ASSERT_LT(i, 1000);
    EXPECT_FALSE(heap_.use().is_marking);
  }

  Persistent<Places> places_;
  Knot* last_ = nullptr;  // the list has it; a root would be marked first
};

using MarkingBySteps = MarkingTest;

TEST_F(MarkingBySteps, KeepsWhatIsStoredBehindItsBack) {
  const std::pair<const char*, std::function<void(Knot*)>> ways[] = {
      {"a pointer", [&](Knot* target) { places_->member = target; }},
      {"a copy",
       [&](Knot* target) {
         const Member<Knot> copy = target;
         places_->member = copy;
       }},
      {"swap",
       [&](Knot* target) {
         places_->other = target;
         places_->other.swap(places_->member);
       }},
      {"of another strength", [&](Knot* target) { places_->member = UntracedMember<Knot>(target); }},
      {"8 bytes", [&](Knot* target) { places_->wide = target; }},
      {"an optional", [&](Knot* target) { places_->maybe.emplace(target); }},
      {"a variant", [&](Knot* target) { places_->either = Member<Knot>(target); }},
      {"a vector", [&](Knot* target) { EXPECT_TRUE(places_->vector.push_back(heap_, target)); }},
      {"a vector that grows",
       [&](Knot* target) {
         EXPECT_TRUE(places_->vector.push_back(heap_, target));
         EXPECT_TRUE(places_->vector.reserve(heap_, places_->vector.capacity() + 1));
       }},
      {"a deque", [&](Knot* target) { EXPECT_TRUE(places_->deque.push_front(heap_, target)); }},
      {"a map's key", [&](Knot* target) { EXPECT_TRUE(places_->map.insert(heap_, target, nullptr)); }},
      {"a map's value", [&](Knot* target) { EXPECT_TRUE(places_->map.insert(heap_, last_, target)); }},
      {"a set", [&](Knot* target) { EXPECT_TRUE(places_->set.insert(heap_, target)); }},
      {"a new object",
       [&](Knot* target) {
         places_->member = make_one<Knot>(1);
         places_->member->left = target;
       }},
  };
  for (const auto& [name, store] : ways) {
    SCOPED_TRACE(name);
    places_ = make_one<Places>();
    fill();
    act(store);
    end_marking();
    collect();
    std::size_t found = 0;
    heap_.for_each_type([&](const TypeUse& type) {
      if (type.name == kKnotName) found = type.objects;
    });
    EXPECT_GE(found, static_cast<std::size_t>(kLength) + 1);  // the verifier has looked, too
  }
}

TEST_F(MarkingBySteps, KeepsWhatAPersistentTakes) {
  Persistent<Knot> taken;
  act([&](Knot* target) { taken = target; });
  end_marking();
  EXPECT_EQ(taken->value, 4711);
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 2);
}

TEST_F(MarkingBySteps, KeepsWhatOnlyTheStackHolds) {
  Knot* target = take();
  int steps = 0;
  while (!heap_.collect_some(0, StackState::MayHoldPointers)) ASSERT_LT(++steps, 1000);
  EXPECT_EQ(target->value, 4711);
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 2);
}

// A store that was saved once needn't be saved for ever.
TEST_F(MarkingBySteps, FindsWhatDiedMeanwhileTheNextTime) {
  act([&](Knot* target) {
    places_->member = target;
    places_->member = nullptr;
  });
  for (int i = 0; i < 100; ++i) places_->other = make_one<Knot>(i);
  end_marking();
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 102);
  end_marking();
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 2);
}

TEST_F(MarkingBySteps, IsThrownAwayByACollectionAtOnce) {
  act([&](Knot*) {});
  for (int i = 0; i < 100; ++i) static_cast<void>(make_one<Knot>(i));
  collect();
  EXPECT_FALSE(heap_.use().is_marking);
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 1);
}

TEST_F(MarkingBySteps, EndsWithItsHeap) {
  act([&](Knot* target) { places_->member = target; });
  heap_ = Heap();
  EXPECT_EQ(places_.get(), nullptr);
  remake({});
  static_cast<void>(make_one<Knot>());
  collect();
  EXPECT_EQ(live(), 0u);
}

TEST_F(MarkingBySteps, FreesNothingByHand) {
  act([&](Knot* target) { free_unreferenced(heap_, target); });
  std::size_t knots = 0;
  heap_.for_each_type([&](const TypeUse& type) {
    if (type.name == kKnotName) knots = type.objects;
  });
  EXPECT_EQ(knots, static_cast<std::size_t>(kLength) + 1);
  end_marking();
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 1);
}

TEST_F(MarkingBySteps, LeavesTheArrayOfAVectorThatShrinks) {
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(places_->vector.push_back(heap_, make_one<Knot>(i)));
  const auto arrays = [&] {
    std::size_t count = 0;
    heap_.for_each_type(
        [&](const TypeUse& type) { count += type.name.find("VectorArray") != type.name.npos ? type.objects : 0; });
    return count;
  };
  const std::size_t before = arrays();
  act([&](Knot* target) {
    places_->vector[7] = target;
    places_->vector.truncate(8);
    EXPECT_TRUE(places_->vector.shrink_to_fit(heap_));
    EXPECT_LT(places_->vector.capacity(), 20u);
    EXPECT_EQ(arrays(), before + 1) << "both: the old one isn't freed by hand";
  });
  end_marking();
  EXPECT_EQ(places_->vector[7]->value, 4711);
  collect();
  EXPECT_LE(arrays(), 1u);
  EXPECT_EQ(places_->vector[6]->value, 6);
}

struct Watcher : GarbageCollected<Watcher> {
  void trace(Visitor& visitor) const {
    visitor.trace(weak);
    visitor.trace_ephemeron(key, value);
  }
  WeakMember<Knot> weak;
  WeakMember<Knot> key;
  Member<Knot> value;
};

TEST_F(MarkingBySteps, LooksAtWeakPlacesAsTheyAreInTheEnd) {
  Persistent<Watcher> watcher = make_one<Watcher>();
  Persistent<Knot> key = make_one<Knot>(1);
  watcher->key = key.get();
  watcher->value = make_one<Knot>(2);
  watcher->weak = last_;
  act([&](Knot* target) { watcher->weak = target; });  // and the watcher was traced
  watcher->key = make_one<Knot>(3);
  end_marking();
  EXPECT_EQ(watcher->weak->value, 4711);  // marked when it was stored
  EXPECT_EQ(watcher->key->value, 3);
  EXPECT_EQ(watcher->value->value, 2);
  end_marking();
  EXPECT_EQ(watcher->weak, nullptr);
  EXPECT_EQ(watcher->key, nullptr);
}

// Steps of no time get on, too, where destructors are to be called first.
TEST_F(MarkingBySteps, RunsDestructorsOfTheLastCollectionFirst) {
  struct Final : GarbageCollected<Final> {
    explicit Final(int& n) : destroyed(&n) {}
    ~Final() { ++*destroyed; }
    void trace(Visitor&) const {}
    int* destroyed;
  };
  constexpr int kFinals = 20'000;  // some ten pages
  int destroyed = 0;
  for (int i = 0; i < kFinals; ++i) static_cast<void>(make_one<Final>(destroyed));
  collect();
  EXPECT_EQ(destroyed, 0);
  EXPECT_FALSE(heap_.collect_some(0, StackState::HoldsNone));
  EXPECT_GT(destroyed, 0);
  EXPECT_LT(destroyed, kFinals);
  end_marking();
  EXPECT_EQ(destroyed, kFinals);
}

TEST_F(MarkingBySteps, GivesAnEphemeronItsKeyLate) {
  Persistent<Watcher> watcher = make_one<Watcher>();
  watcher->value = make_one<Knot>(2);  // without a key that keeps it
  Persistent<Knot> key = make_one<Knot>(1);
  act([&](Knot*) { watcher->key = key.get(); });
  end_marking();
  EXPECT_EQ(watcher->value->value, 2);
  collect();
  EXPECT_EQ(watcher->value->value, 2);
}

// An entry of a weak table goes even if the table grew while it was marked.
struct Table : GarbageCollected<Table> {
  void trace(Visitor& visitor) const { visitor.trace(map); }
  HeapHashMap<WeakMember<Knot>, Member<Knot>> map;
};

TEST_F(MarkingBySteps, DropsDeadKeysOfTablesThatGrewMeanwhile) {
  Persistent<Table> table = make_one<Table>();
  Persistent<Knot> kept = make_one<Knot>(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(table->map.insert(heap_, make_one<Knot>(i), kept.get()));
  EXPECT_TRUE(table->map.insert(heap_, kept.get(), make_one<Knot>(9)));
  act([&](Knot*) {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(table->map.insert(heap_, make_one<Knot>(i), nullptr));
  });
  end_marking();
  EXPECT_EQ(table->map.size(), 51u);  // the new ones are kept this time, the old ones aren't
  end_marking();
  EXPECT_EQ(table->map.size(), 1u);
  EXPECT_EQ((*table->map.find(kept.get()))->value, 9);
}

struct Slow : GarbageCollected<Slow> {
  explicit Slow(Heap& heap, int steps) {
    first = make<Knot>(heap, 1);
    for (int i = 0; i < steps; ++i) heap.collect_some(0, StackState::MayHoldPointers);
    second = make<Knot>(heap, 2);
  }
  void trace(Visitor& visitor) const {
    visitor.trace(first);
    visitor.trace(second);
  }
  Member<Knot> first, second;
};

TEST_F(MarkingBySteps, FollowsWhatIsInConstruction) {
  for (const int steps : {1, 2, 1000}) {
    const std::size_t before = heap_.use().collections;
    Persistent<Slow> slow = make_one<Slow>(heap_, steps);
    while (heap_.use().collections == before) heap_.collect_some(0, StackState::HoldsNone);
    EXPECT_EQ(slow->first->value, 1);
    EXPECT_EQ(slow->second->value, 2);
    collect();
    EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 5);
  }
}

// Neither is an object that a marker could be told of.
TEST_F(MarkingBySteps, TakesStoresOfNullAndTheSentinel) {
  act([&](Knot* target) {
    places_->member = kSentinelPtr;
    places_->other = places_->member;
    places_->other = nullptr;
    Member<Knot> copy = places_->member;
    EXPECT_TRUE(copy.is_sentinel());
    places_->member = target;
    places_->member = kSentinelPtr;
  });
  end_marking();
  EXPECT_TRUE(places_->member.is_sentinel());
  EXPECT_FALSE(places_->other);
}

TEST_F(MarkingBySteps, IgnoresTheStoresOfOtherThreads) {
  act([&](Knot* target) {
    places_->member = target;
    std::thread([&] {
      Member<Knot> other = last_;  // not this thread's heap: nothing to tell it
      Member<Knot> copy = other;
      EXPECT_EQ(copy, other);
    }).join();
  });
  end_marking();
  EXPECT_EQ(places_->member->value, 4711);
}

// Stores are written down for all heaps of a thread together, from the first of them that is being marked.
TEST_F(MarkingBySteps, TellsAHeapNothingOfBeforeItsOwnMarking) {
  Heap other = std::move(Heap::create({.collections = Collections::ByHand, .verifies = true}).value());
  const Persistent<Knot> kept = make<Knot>(other, 1);
  act([&](Knot*) {
    const Member<Knot> gone = make<Knot>(other, 2);
    EXPECT_EQ(gone->value, 2);
  });
  other.collect(StackState::HoldsNone);
  EXPECT_EQ(other.use().live_objects, 1u);
  while (!other.collect_some(0, StackState::HoldsNone)) EXPECT_TRUE(other.use().is_marking);
  EXPECT_EQ(other.use().live_objects, 1u);
  end_marking();
  EXPECT_EQ(live(), static_cast<std::size_t>(kLength) + 1);
}

TEST(Marking, GoesByStepsWhereAllAtOnceWouldTakeLong) {
  constexpr int kKnots = 400'000;
  HeapOptions options;
  options.pause_goal_ns = 100'000;
  Heap heap = std::move(Heap::create(options).value());
  Persistent<Knot> list;
  for (int i = 0; i < kKnots; ++i) {
    Knot* knot = make<Knot>(heap, i);
    knot->left = list.get();
    list = knot;
  }
  const HeapUse built = heap.use();
  for (int i = 0; i < 3 * kKnots; ++i) list->right = make<Knot>(heap, i);
  const HeapUse after = heap.use();
  EXPECT_GT(after.collections, built.collections);
  EXPECT_GT(after.pauses - built.pauses, 10 * (after.collections - built.collections));
  EXPECT_LT(after.page_bytes, std::size_t{40} << 20);  // 9.6 MB live
  heap.collect(StackState::HoldsNone);
  EXPECT_EQ(heap.use().live_objects, static_cast<std::size_t>(kKnots) + 1);
  int expected = kKnots;
  for (const Knot* knot = list.get(); knot != nullptr; knot = knot->left.get()) ASSERT_EQ(knot->value, --expected);
}

// A group that says so has none of it, and Members that are plain numbers.
struct PlainGroup {
  using Decoding = SplitDecoding<7>;
  static constexpr std::size_t kCageBytes = std::size_t{64} << 20;
  static constexpr WriteBarrier kWriteBarrier = WriteBarrier::None;
  static constexpr StoreChecks kStoreChecks = StoreChecks::None;
};
struct Plain : GarbageCollected<Plain, PlainGroup> {
  void trace(Visitor& visitor) const { visitor.trace(next); }
  Member<Plain, PlainGroup> next;
};
static_assert(std::is_trivially_copyable_v<Member<Plain, PlainGroup>>);
static_assert(!std::is_trivially_copyable_v<Member<Knot>>);
static_assert(std::is_trivially_copyable_v<UntracedMember<Knot>>);
static_assert(std::is_trivially_destructible_v<Member<Knot>>);

TEST(Marking, IsDoneAtOnceInAGroupWithoutBarriers) {
  HeapOptions options;
  options.marking = Marking::Incremental;
  options.pause_goal_ns = 0;
  HeapOf<PlainGroup> heap = std::move(HeapOf<PlainGroup>::create(options).value());
  Persistent<Plain> list;
  for (int i = 0; i < 10'000; ++i) {
    Plain* plain = make<Plain>(heap);
    plain->next = list.get();
    list = plain;
  }
  EXPECT_TRUE(heap.collect_some(0, StackState::HoldsNone));
  EXPECT_EQ(heap.use().live_objects, 10'000u);
}

}  // namespace
}  // namespace tare::gc
