// Old objects record pointers to young objects, so that these stay alive.
#include <array>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tare/gc/explicit.h"
#include "young_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

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

struct YoungWatcher : GarbageCollected<YoungWatcher, Group> {
  void trace(Visitor& visitor) const { visitor.add_weak_callback(look, this); }
  static void look(const Liveness& liveness, const void* object) {
    auto* self = static_cast<YoungWatcher*>(const_cast<void*>(object));
    ++self->calls;
    for (WeakLink<Leaf>& leaf : self->leaves) {
      if (!liveness.is_alive(leaf)) leaf = nullptr;
    }
  }
  std::array<WeakLink<Leaf>, 2> leaves;
  int calls = 0;
};

TEST_F(Young, AreAskedForByCallBacksOfOldObjectsThatGotOne) {
  const Persistent<YoungWatcher> watcher = make_one<YoungWatcher>();
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

// Objects with Members that are written as bytes.
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

}  // namespace
}  // namespace tare::gc
