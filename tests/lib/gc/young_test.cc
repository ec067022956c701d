// Collections of young objects alone: what they keep, what they leave unseen, and what old objects must tell of.
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "groups.h"
#include "tare/gc/explicit.h"
#include "tare/gc/heap.h"
#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/gc/tagged_member.h"
#include "tare/gc/trace_std.h"

namespace tare::gc {
namespace {

using namespace testing;

using Group = GenerationalGroup;
template <class T>
using Link = Member<T, Group>;
template <class T>
using WeakLink = WeakMember<T, Group>;

struct Side : GarbageCollectedMixin {
  int side_value = 5;
};

struct Leaf : GarbageCollected<Leaf, Group>, Side {
  explicit Leaf(int v = 0) : value(v) {}
  void trace(Visitor& visitor) const {
    ++traced;
    visitor.trace(next);
  }
  int value;
  Link<Leaf> next;
  static inline int traced = 0;
};

// One place of each kind to store a pointer in.
struct Holder : GarbageCollected<Holder, Group> {
  void trace(Visitor& visitor) const {
    ++traced;
    visitor.trace(member);
    visitor.trace(other);
    visitor.trace(wide);
    visitor.trace(tagged);
    visitor.trace(side);
    visitor.trace(maybe);
    visitor.trace(either);
    visitor.trace(vector);
    visitor.trace(deque);
    visitor.trace(map);
    visitor.trace(set);
    visitor.trace(weak);
    visitor.trace(by_weak);
    visitor.trace_ephemeron(key, value);
  }
  Link<Leaf> member, other;
  UncompressedMember<Leaf, Group> wide;
  TaggedMember<Leaf, 1, Group> tagged;
  Link<Side> side;
  std::optional<Link<Leaf>> maybe;
  std::variant<int, Link<Leaf>> either;
  HeapVector<Link<Leaf>, Group> vector;
  HeapDeque<Link<Leaf>, Group> deque;
  HeapHashMap<Link<Leaf>, Link<Leaf>, Group> map;
  HeapHashSet<Link<Leaf>, Group> set;
  WeakLink<Leaf> weak;
  HeapHashMap<WeakLink<Leaf>, Link<Leaf>, Group> by_weak;
  WeakLink<Leaf> key;
  Link<Leaf> value;
  static inline int traced = 0;
};

struct LargeHolder : Holder {
  char bytes[100'000];
};

#ifdef NDEBUG
constexpr bool kAlwaysVerifies = false;
#else
constexpr bool kAlwaysVerifies = true;
#endif

class Young : public ::testing::Test {
 protected:
  using Heap = HeapOf<Group>;

  Young() {
    HeapOptions options;
    options.collections = Collections::ByHand;
    remake(options);
  }
  void remake(HeapOptions options) {
    options.verifies = true;
    heap_ = Heap();
    CageResult<Heap> made = Heap::create(options);
    if (!made) std::abort();
    heap_ = std::move(made.value());
  }

  template <class T, class... Arguments>
  T* make_one(Arguments&&... arguments) {
    return make<T>(heap_, std::forward<Arguments>(arguments)...);
  }
  Leaf* leaf(int value) { return make_one<Leaf>(value); }
  void collect() { heap_.collect(StackState::HoldsNone); }
  void collect_young() { EXPECT_TRUE(heap_.collect_young(StackState::HoldsNone)); }
  std::size_t live() const { return heap_.use().live_objects; }
  std::size_t remembered() const { return heap_.use().remembered_objects; }
  template <class T>
  T* make_old() {
    old_ = make_one<T>();
    collect_young();
    return static_cast<T*>(old_.get());
  }

  Heap heap_;
  Persistent<Holder> old_;
};

TEST_F(Young, DieInACollectionOfTheirOwn) {
  const Persistent<Leaf> kept = leaf(1);
  kept->next = leaf(2);
  leaf(3)->next = leaf(4);
  collect_young();
  EXPECT_EQ(live(), 2u);
  EXPECT_EQ(kept->next->value, 2);
  EXPECT_EQ(heap_.use().collections, 1u);
  EXPECT_EQ(heap_.use().young_collections, 1u);
  EXPECT_EQ(heap_.use().allocated_bytes, 0u);
}

TEST_F(Young, AreOldOnceTheyHaveSurvivedAndDieWithTheWholeHeapOnly) {
  Persistent<Leaf> kept = leaf(1);
  collect_young();
  kept = nullptr;
  collect_young();
  collect_young();
  EXPECT_EQ(live(), 1u);
  collect();
  EXPECT_EQ(live(), 0u);
}

// The verifier traces everything, so in a heap without one; libraries built with assertions always have one.
TEST_F(Young, LeaveOldObjectsUntraced) {
  HeapOptions options;
  options.collections = Collections::ByHand;
  Heap heap = std::move(Heap::create(options).value());
  const Persistent<Leaf> old = make<Leaf>(heap, 1);
  old->next = make<Leaf>(heap, 2);
  const auto traced = [&] {
    Leaf::traced = 0;
    EXPECT_TRUE(heap.collect_young(StackState::HoldsNone));
    const int of_verifier = kAlwaysVerifies ? static_cast<int>(heap.use().live_objects) : 0;
    return Leaf::traced - of_verifier;
  };
  EXPECT_EQ(traced(), 2);
  EXPECT_EQ(traced(), 0);
  const Persistent<Leaf> young = make<Leaf>(heap, 3);
  EXPECT_EQ(traced(), 1);
  old->next = make<Leaf>(heap, 4);
  EXPECT_EQ(traced(), 2);  // it, and where it was stored
  heap.collect(StackState::HoldsNone);
  EXPECT_EQ(traced(), 0);
}

// From places of every kind, in old objects of both kinds of pages.
TEST_F(Young, LiveByWhatWasStoredIntoOldObjects) {
  const std::pair<const char*, std::function<void(Holder&, Leaf*)>> ways[] = {
      {"a pointer", [](Holder& holder, Leaf* young) { holder.member = young; }},
      {"a copy",
       [](Holder& holder, Leaf* young) {
         const Link<Leaf> copy = young;
         holder.member = copy;
       }},
      {"of another strength", [](Holder& holder, Leaf* young) { holder.member = UntracedMember<Leaf, Group>(young); }},
      {"swap",
       [](Holder& holder, Leaf* young) {
         Link<Leaf> local = young;
         holder.member.swap(local);
       }},
      {"8 bytes", [](Holder& holder, Leaf* young) { holder.wide = young; }},
      {"with a tag", [](Holder& holder, Leaf* young) { holder.tagged.set(young, 1); }},
      {"a tagged copy", [](Holder& holder, Leaf* young) { holder.tagged = TaggedMember<Leaf, 1, Group>(young, 1); }},
      {"a mixin", [](Holder& holder, Leaf* young) { holder.side = young; }},
      {"an optional", [](Holder& holder, Leaf* young) { holder.maybe.emplace(young); }},
      {"a variant", [](Holder& holder, Leaf* young) { holder.either = Link<Leaf>(young); }},
      {"a vector", [&](Holder& holder, Leaf* young) { EXPECT_TRUE(holder.vector.push_back(heap_, young)); }},
      {"a deque", [&](Holder& holder, Leaf* young) { EXPECT_TRUE(holder.deque.push_front(heap_, young)); }},
      {"a map's value",
       [&](Holder& holder, Leaf* young) { EXPECT_TRUE(holder.map.insert(heap_, holder.other.get(), young)); }},
      {"a map's key",
       [&](Holder& holder, Leaf* young) { EXPECT_TRUE(holder.map.insert(heap_, young, holder.other.get())); }},
      {"a set", [&](Holder& holder, Leaf* young) { EXPECT_TRUE(holder.set.insert(heap_, young)); }},
      {"an ephemeron",
       [](Holder& holder, Leaf* young) {
         holder.key = holder.other;
         holder.value = young;
       }},
      {"a weak key's value",
       [&](Holder& holder, Leaf* young) { EXPECT_TRUE(holder.by_weak.insert(heap_, holder.other.get(), young)); }},
  };
  for (const bool is_large : {false, true}) {
    for (const bool has_room : {false, true}) {
      for (const auto& [name, store] : ways) {
        SCOPED_TRACE(name);
        collect();
        Holder* holder = is_large ? make_one<LargeHolder>() : make_one<Holder>();
        old_ = holder;
        holder->other = leaf(1);
        if (has_room) {  // containers' arrays are old, too
          EXPECT_TRUE(holder->vector.push_back(heap_, nullptr) && holder->deque.push_back(heap_, nullptr) &&
                      holder->map.insert(heap_, holder->other.get(), nullptr) &&
                      holder->set.insert(heap_, holder->other.get()) &&
                      holder->by_weak.insert(heap_, holder->other.get(), nullptr));
        }
        collect_young();
        const std::size_t before = live();
        WeakPersistent<Leaf> young = leaf(4711);
        store(*holder, young.get());
        EXPECT_GE(remembered(), 1u);
        WeakPersistent<Leaf> garbage = leaf(0);
        collect_young();
        EXPECT_EQ(garbage.get(), nullptr);
        ASSERT_NE(young.get(), nullptr);
        EXPECT_EQ(young->value, 4711);
        EXPECT_GT(live(), before);
        EXPECT_EQ(remembered(), 0u);
        collect();
        EXPECT_NE(young.get(), nullptr);
      }
    }
  }
}

TEST_F(Young, AreRememberedOfEachOldObjectOnce) {
  Holder* holder = make_old<Holder>();
  holder->member = leaf(1);
  holder->other = leaf(2);
  holder->member = leaf(3);
  EXPECT_EQ(remembered(), 1u);
  holder->member = nullptr;
  collect_young();
  EXPECT_EQ(live(), 2u);
  EXPECT_EQ(remembered(), 0u);
  holder->member = leaf(4);
  EXPECT_EQ(remembered(), 1u);
  collect();
  EXPECT_EQ(live(), 3u);
  EXPECT_EQ(remembered(), 0u);
}

TEST_F(Young, MakeNobodyRememberWhatIsOldOrNothing) {
  Holder* holder = make_old<Holder>();
  const Persistent<Leaf> other = leaf(1);
  collect_young();
  holder->member = other.get();
  holder->wide = other.get();
  holder->tagged.set(other.get(), 1);
  holder->other = nullptr;
  holder->weak = kSentinelPtr;
  holder->value = kSentinelPtr;
  EXPECT_EQ(remembered(), 0u);
  collect_young();
  EXPECT_TRUE(holder->weak.is_sentinel() && holder->value.is_sentinel());
}

// Also between two old ones, where both have bytes of the same 16.
TEST_F(Young, StoresIntoThemAndTheStackAreNotRemembered) {
  std::vector<Persistent<Leaf>> kept;
  for (int i = 0; i < 200; ++i) {
    Leaf* made = leaf(i);
    if (i % 2 == 0) kept.emplace_back(made);
  }
  collect_young();
  Link<Leaf> local = leaf(-1);
  const UncompressedMember<Leaf, Group> wide = local;
  for (int i = 0; i < 200; ++i) {
    Leaf* young = leaf(1000 + i);
    young->next = local;
    local = young;
  }
  EXPECT_EQ(wide->value, -1);
  EXPECT_EQ(remembered(), 0u);
  EXPECT_TRUE(heap_.collect_young(StackState::MayHoldPointers));
  EXPECT_EQ(live(), 301u);
  EXPECT_EQ(local->value, 1199);
}

TEST_F(Young, BecomeNullInOldObjectsWeakMembers) {
  Holder* holder = make_old<Holder>();
  const Persistent<Leaf> kept = leaf(1);
  holder->weak = leaf(2);
  holder->key = leaf(3);
  holder->value = leaf(4);
  EXPECT_TRUE(holder->by_weak.insert(heap_, leaf(5), leaf(6)));
  EXPECT_TRUE(holder->by_weak.insert(heap_, kept.get(), leaf(7)));
  collect_young();
  EXPECT_EQ(holder->weak, nullptr);
  EXPECT_EQ(holder->key, nullptr);
  EXPECT_EQ(holder->by_weak.size(), 1u);
  EXPECT_EQ(holder->by_weak.find(kept.get())->get()->value, 7);
  // An array that is old by now loses its young keys as well.
  EXPECT_TRUE(holder->by_weak.insert(heap_, leaf(8), kept.get()));
  collect_young();
  EXPECT_EQ(holder->by_weak.size(), 1u);
}

struct Watcher : GarbageCollected<Watcher, Group> {
  void trace(Visitor& visitor) const { visitor.add_weak_callback(look, this); }
  static void look(const Liveness& liveness, const void* object) {
    auto* self = static_cast<Watcher*>(const_cast<void*>(object));
    ++self->calls;
    for (WeakLink<Leaf>& leaf : self->leaves) {
      if (!liveness.is_alive(leaf)) leaf = nullptr;
    }
  }
  std::array<WeakLink<Leaf>, 2> leaves;
  int calls = 0;
};

TEST_F(Young, AreAskedForByCallBacksOfOldObjectsThatGotOne) {
  const Persistent<Watcher> watcher = make_one<Watcher>();
  const Persistent<Leaf> kept = leaf(1);
  watcher->leaves[0] = kept;
  collect_young();
  EXPECT_EQ(watcher->calls, 1);
  collect_young();
  EXPECT_EQ(watcher->calls, 1);  // what it has is old
  watcher->leaves[1] = leaf(2);
  collect_young();
  EXPECT_EQ(watcher->calls, 2);
  EXPECT_EQ(watcher->leaves[0], kept);
  EXPECT_EQ(watcher->leaves[1], nullptr);
}

// What has Members that are written as bytes.
TEST_F(Young, AreFoundInOldObjectsThatSayTheyWereWritten) {
  Holder* holder = make_old<Holder>();
  const Link<Leaf> young = leaf(1);
  std::memcpy(static_cast<void*>(&holder->member), static_cast<const void*>(&young), sizeof(young));
  EXPECT_EQ(remembered(), 0u);
  trace_again(holder);
  EXPECT_EQ(remembered(), 1u);
  collect_young();
  EXPECT_EQ(live(), 2u);
  EXPECT_EQ(holder->member->value, 1);
}

TEST_F(Young, TakeThePlaceOfAnOldObjectThatWasRememberedAndFreed) {
  for (const bool is_large : {false, true}) {
    collect();
    const Persistent<Leaf> witness = leaf(1);
    Holder* doomed = is_large ? make_one<LargeHolder>() : make_one<Holder>();
    old_ = doomed;
    collect_young();
    doomed->member = leaf(2);
    EXPECT_EQ(remembered(), 1u);
    old_ = nullptr;
    const std::size_t room = room_behind(heap_, doomed);
    is_large ? free_unreferenced(heap_, static_cast<LargeHolder*>(doomed)) : free_unreferenced(heap_, doomed);
    if (is_large) {
      EXPECT_EQ(remembered(), 0u);
    }
    // In its place, dead, and pointing to what is dead.
    Holder* next = nullptr;
    for (int i = 0; !is_large && i < 10 && next != doomed; ++i) next = make_one<Holder>();
    if (!is_large) {
      EXPECT_EQ(next, doomed);
      EXPECT_EQ(room_behind(heap_, next), room);  // it is found, in a page that wasn't swept when the old one was freed
      next->member = leaf(3);
    }
    collect_young();
    EXPECT_EQ(live(), 1u);
    // And alive.
    Persistent<Holder> alive = make_one<Holder>();
    alive->member = leaf(4);
    collect_young();
    EXPECT_EQ(live(), 3u);
    alive = nullptr;
    collect();
    EXPECT_EQ(live(), 1u);
  }
}

TEST_F(Young, LiveInArraysOfOldVectorsThatShrankAndGrew) {
  Holder* holder = make_old<Holder>();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(holder->vector.push_back(heap_, leaf(i)));
  collect_young();
  EXPECT_EQ(live(), 102u);
  for (int i = 0; i < 10; ++i) holder->vector[static_cast<std::size_t>(i)] = leaf(1000 + i);
  EXPECT_EQ(remembered(), 1u);
  holder->vector.truncate(20);
  EXPECT_TRUE(holder->vector.shrink_to_fit(heap_));
  std::vector<WeakPersistent<Leaf>> dead;
  for (int i = 0; i < 30; ++i) dead.emplace_back(leaf(i));
  collect_young();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(holder->vector[static_cast<std::size_t>(i)]->value, i < 10 ? 1000 + i : i);
  for (const auto& one : dead) EXPECT_EQ(one.get(), nullptr);
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(holder->vector.push_back(heap_, leaf(2000 + i)));
    if (i % 50 == 0) collect_young();
  }
  collect_young();
  for (int i = 0; i < 500; ++i) EXPECT_EQ(holder->vector[static_cast<std::size_t>(20 + i)]->value, 2000 + i);
}

// ---- by parts

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
struct Slow : GarbageCollected<Slow, Group> {
  explicit Slow(const std::function<void(Slow&)>& build) { build(*this); }
  void trace(Visitor& visitor) const {
    visitor.trace(first);
    visitor.trace(second);
    visitor.trace(weak);
    visitor.trace(inner);
  }
  Link<Leaf> first, second;
  WeakLink<Leaf> weak;
  Link<Slow> inner;
};

class YoungInConstruction : public Young, public ::testing::WithParamInterface<std::tuple<bool, StackState>> {
 protected:
  // By way of a root where the stack isn't looked at.
  void collect_first(Slow& slow) {
    const auto [is_whole, stack] = GetParam();
    Persistent<Slow> self;
    if (stack == StackState::HoldsNone) self = &slow;
    is_whole ? heap_.collect(stack) : static_cast<void>(heap_.collect_young(stack));
  }
  void collect_next(Slow& slow) {
    const StackState stack = std::get<1>(GetParam());
    Persistent<Slow> self;
    if (stack == StackState::HoldsNone) self = &slow;
    EXPECT_TRUE(heap_.collect_young(stack));
  }
};

TEST_P(YoungInConstruction, AreFollowedByEachCollectionUntilTheyAreMade) {
  Persistent<Slow> made = make_one<Slow>([&](Slow& slow) {
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
  const Persistent<Slow> made = make_one<Slow>([&](Slow& outer) {
    outer.first = leaf(1);
    const Persistent<Slow> keeps = &outer;
    outer.inner = make_one<Slow>([&](Slow& inner) {
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
using EveryDecoding = ::testing::Types<GenerationalGroup, GenerationalSeedGroup, GenerationalLowGroup>;
TYPED_TEST_SUITE(YoungOf, EveryDecoding);

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
