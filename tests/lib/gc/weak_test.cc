// Weak references: members, ephemerons, call-backs.
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/sanitized.h"
#include "tare/gc/heap_vector.h"

namespace tare::gc {
namespace {

using namespace testing;

using Weak = HeapTest;

struct Observer : GarbageCollected<Observer> {
  void trace(Visitor& visitor) const {
    visitor.trace(strong);
    visitor.trace(weak);
  }
  Member<Knot> strong;
  WeakMember<Knot> weak;
};

TEST_F(Weak, MembersBecomeNullWhenTheirObjectDies) {
  Persistent<Observer> observer = make_one<Observer>();
  observer->strong = make_one<Knot>(1);
  observer->weak = observer->strong;
  collect();
  EXPECT_EQ(observer->weak->value, 1);
  EXPECT_EQ(observer->weak, observer->strong);
  observer->strong = nullptr;
  collect();
  EXPECT_EQ(observer->weak, nullptr);
  EXPECT_EQ(live(), 1u);
}

TEST_F(Weak, SentinelsStay) {
  Persistent<Observer> observer = make_one<Observer>();
  observer->weak = kSentinelPtr;
  observer->strong = kSentinelPtr;
  collect();
  EXPECT_TRUE(observer->weak.is_sentinel());
  EXPECT_TRUE(observer->strong.is_sentinel());
}

struct Pairs : GarbageCollected<Pairs> {
  void trace(Visitor& visitor) const {
    for (const auto& pair : pairs) visitor.trace_ephemeron(pair.key, pair.value);
  }
  struct {
    WeakMember<Knot> key;
    Member<Knot> value;
  } pairs[4];
};

TEST_F(Weak, EphemeronsKeepTheirValueWhileTheKeyLives) {
  Persistent<Pairs> pairs = make_one<Pairs>();
  Persistent<Knot> key = make_one<Knot>(1);
  pairs->pairs[0].key = key.get();
  pairs->pairs[0].value = make_one<Knot>(2);
  collect();
  EXPECT_EQ(pairs->pairs[0].value->value, 2);
  EXPECT_EQ(live(), 3u);
  key = nullptr;
  collect();
  EXPECT_EQ(pairs->pairs[0].key, nullptr);
  EXPECT_EQ(live(), 1u);
}

TEST_F(Weak, EphemeronsWhoseValuesAreKeysLiveTogether) {
  Persistent<Pairs> pairs = make_one<Pairs>();
  Persistent<Knot> first = make_one<Knot>(0);
  Knot* keys[5] = {first.get()};
  for (int i = 1; i < 5; ++i) keys[i] = make_one<Knot>(i);
  for (int i = 3; i >= 0; --i) {  // the worst order: each round finds one
    pairs->pairs[3 - i].key = keys[i];
    pairs->pairs[3 - i].value = keys[i + 1];
  }
  std::fill(keys, keys + 5, nullptr);
  collect();
  EXPECT_EQ(live(), 6u);
  EXPECT_EQ(pairs->pairs[0].value->value, 4);
  first = nullptr;
  collect();
  EXPECT_EQ(live(), 1u);
}

// Each is found when the one before has kept it, beside as many whose keys are never reached: an hour's work, were all
// gone through in each round.
TEST_F(Weak, EphemeronsThatLeadToEachOtherTakeTimeByTheirNumber) {
  struct Link : GarbageCollected<Link> {
    void trace(Visitor& visitor) const { visitor.trace_ephemeron(key, value); }
    WeakMember<Link> key;
    Member<Link> value;
  };
  struct Links : GarbageCollected<Links> {
    void trace(Visitor& visitor) const {
      visitor.trace(first);
      visitor.trace(keys);
      visitor.trace(unreached);
    }
    Member<Link> first;
    HeapVector<Member<Link>> keys, unreached;
  };
  constexpr std::size_t kCount = kSanitized ? 100'000 : 400'000;
  alarm(600);
  HeapOptions options;
  options.collections = Collections::ByHand;
  remake(options);
  Persistent<Links> links = make_one<Links>();
  links->first = make_one<Link>();
  Link* last = links->first.get();
  for (std::size_t i = 0; i < kCount; ++i) {
    Link* key = make_one<Link>();
    ASSERT_TRUE(links->keys.push_back(heap_, key));
    last->key = key;
    last->value = make_one<Link>();
    last = last->value.get();
    Link* dead = make_one<Link>();
    ASSERT_TRUE(links->unreached.push_back(heap_, dead));
    dead->key = make_one<Link>();
    dead->value = make_one<Link>();
  }
  collect();
  alarm(0);
  std::size_t reached = 0;
  for (const Link* link = links->first.get(); link->value; link = link->value.get()) ++reached;
  EXPECT_EQ(reached, kCount);
  for (const auto& dead : links->unreached) ASSERT_EQ(dead->key, nullptr);
}

TEST_F(Weak, EphemeronsWithoutKeyOrValueKeepNothing) {
  Persistent<Pairs> pairs = make_one<Pairs>();
  Persistent<Knot> key = make_one<Knot>(1);
  pairs->pairs[0].key = key.get();
  pairs->pairs[1].value = make_one<Knot>(2);
  collect();
  EXPECT_EQ(live(), 2u);
  EXPECT_EQ(pairs->pairs[0].key, key);
  EXPECT_EQ(pairs->pairs[0].value, nullptr);
}

struct NamedMixin : GarbageCollectedMixin {
  int name = 0;
};
struct WithName : GarbageCollected<WithName>, NamedMixin {
  void trace(Visitor&) const {}
};
struct ByName : GarbageCollected<ByName> {
  void trace(Visitor& visitor) const { visitor.trace_ephemeron(key, value); }
  WeakMember<NamedMixin> key;  // points into its object
  Member<NamedMixin> value;
};

TEST_F(Weak, EphemeronsMayHaveMixinsAsKeysAndValues) {
  Persistent<ByName> pair = make_one<ByName>();
  Persistent<WithName> key = make_one<WithName>();
  pair->key = key.get();
  pair->value = make_one<WithName>();
  pair->value->name = 5;
  collect();
  EXPECT_EQ(live(), 3u);
  EXPECT_EQ(pair->value->name, 5);
  key = nullptr;
  collect();
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(pair->key, nullptr);
}

// The key's constructor collects: what it is the key of stays.
struct KeyInMaking : GarbageCollected<KeyInMaking> {
  KeyInMaking(Heap& heap, auto& pair, Knot* value) {
    pair.key = this;
    pair.value = value;
    value = nullptr;
    heap.collect(StackState::MayHoldPointers);
  }
  void trace(Visitor&) const {}
};
struct OfKeyInMaking : GarbageCollected<OfKeyInMaking> {
  void trace(Visitor& visitor) const { visitor.trace_ephemeron(key, value); }
  WeakMember<KeyInMaking> key;
  Member<Knot> value;
};

TEST_F(Weak, EphemeronsKeysMayBeInConstruction) {
  Persistent<OfKeyInMaking> pair = make_one<OfKeyInMaking>();
  Persistent<KeyInMaking> key = make_one<KeyInMaking>(heap_, *pair, make_one<Knot>(9));
  EXPECT_EQ(pair->key, key);
  EXPECT_EQ(pair->value->value, 9);
}

// While a constructor runs its object's fields are taken for what they look like: a weak one keeps as long.
struct WatcherInMaking : GarbageCollected<WatcherInMaking> {
  explicit WatcherInMaking(Heap& heap) {
    [&]() __attribute__((noinline)) { watched = make<Knot>(heap, 6); }();
    heap.collect(StackState::MayHoldPointers);
    EXPECT_EQ(watched->value, 6);
  }
  void trace(Visitor& visitor) const { visitor.trace(watched); }
  WeakMember<Knot> watched;
};

TEST_F(Weak, MembersOfAnObjectInConstructionKeepUntilItIsMade) {
  const Persistent<WatcherInMaking> watcher = make_one<WatcherInMaking>(heap_);
  EXPECT_EQ(live(), 2u);
  collect();
  EXPECT_EQ(watcher->watched, nullptr);
  EXPECT_EQ(live(), 1u);
}

struct Chain : GarbageCollected<Chain> {
  explicit Chain(std::size_t n) : count(n) {}
  void trace(Visitor& visitor) const {
    for (std::size_t i = 0; i < count; ++i) visitor.trace_ephemeron(pairs()[i].key, pairs()[i].value);
  }
  struct Pair {
    WeakMember<Knot> key;
    Member<Knot> value;
  };
  Pair* pairs() const { return reinterpret_cast<Pair*>(const_cast<Chain*>(this) + 1); }
  std::size_t count;
};

// Each value is another pair's key, in an order that finds few of them in a round: tens of thousands of rounds of as
// many pairs would take minutes.
TEST_F(Weak, LongChainsOfEphemeronsAreFollowed) {
  constexpr std::size_t kPairs = 100'000;
  Persistent<Chain> chain;
  Persistent<Knot> first;
  {
    const NoCollectionScope scope(heap_);
    chain = make_one<Chain>(AdditionalBytes(kPairs * sizeof(Chain::Pair)), kPairs);
    std::vector<Knot*> knots;
    for (std::size_t i = 0; i <= kPairs; ++i) knots.push_back(make_one<Knot>(static_cast<int>(i)));
    first = knots[0];
    std::vector<std::size_t> order(kPairs);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    for (std::size_t i = 0; i < kPairs; ++i) {
      chain->pairs()[i].key = knots[order[i]];
      chain->pairs()[i].value = knots[order[i] + 1];
    }
  }
  collect();
  EXPECT_EQ(live(), kPairs + 2);
  first = nullptr;
  collect();
  EXPECT_EQ(live(), 1u);
}

TEST_F(Weak, AnEphemeronsValueThatPointsToItsKeyKeepsNeither) {
  Persistent<Pairs> pairs = make_one<Pairs>();
  {
    Knot* key = make_one<Knot>(1);
    Knot* value = make_one<Knot>(2);
    value->left = key;
    pairs->pairs[0].key = key;
    pairs->pairs[0].value = value;
  }
  collect();
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(pairs->pairs[0].key, nullptr);
}

struct Registered : GarbageCollected<Registered> {
  void trace(Visitor& visitor) const {
    visitor.add_weak_callback(
        [](const Liveness& liveness, const void* object) {
          auto* self = static_cast<Registered*>(const_cast<void*>(object));
          ++self->calls;
          if (!liveness.is_alive(self->watched)) self->watched = nullptr;
        },
        this);
  }
  UntracedMember<Knot> watched;
  int calls = 0;
};

TEST_F(Weak, CallBacksTellWhoDied) {
  Persistent<Registered> registered = make_one<Registered>();
  Persistent<Knot> knot = make_one<Knot>(1);
  registered->watched = knot.get();
  static_cast<void>(make_one<Registered>());  // dies, and isn't called
  collect();
  EXPECT_EQ(registered->calls, 1);
  EXPECT_EQ(registered->watched->value, 1);
  knot = nullptr;
  collect();
  EXPECT_EQ(registered->calls, 2);
  EXPECT_EQ(registered->watched, nullptr);
}

TEST_F(Weak, MembersMayBeTracedStrongly) {
  struct Sometimes : GarbageCollected<Sometimes> {
    void trace(Visitor& visitor) const {
      if (is_strong) {
        visitor.trace_strongly(member);
      } else {
        visitor.trace(member);
      }
    }
    bool is_strong = true;
    WeakMember<Knot> member;
  };
  Persistent<Sometimes> sometimes = make_one<Sometimes>();
  sometimes->member = make_one<Knot>(4);
  collect();
  EXPECT_EQ(sometimes->member->value, 4);
  sometimes->is_strong = false;
  collect();
  EXPECT_EQ(sometimes->member, nullptr);
}

}  // namespace
}  // namespace tare::gc
