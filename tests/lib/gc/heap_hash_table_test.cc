#include "tare/gc/heap_hash_table.h"

#include <map>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/sanitized.h"
#include "tare/gc/heap_vector.h"

namespace tare::gc {
namespace {

using namespace testing;

using HashTables = HeapTest;

struct Tables : GarbageCollected<Tables> {
  void trace(Visitor& visitor) const {
    visitor.trace(strong);
    visitor.trace(weak);
    visitor.trace(weak_values);
    visitor.trace(set);
    visitor.trace(numbers);
  }
  HeapHashMap<Member<Knot>, Member<Knot>> strong;
  HeapHashMap<WeakMember<Knot>, Member<Knot>> weak;
  HeapHashMap<Member<Knot>, WeakMember<Knot>> weak_values;
  HeapHashSet<WeakMember<Knot>> set;
  HeapHashMap<WeakMember<Knot>, int> numbers;
};

static_assert(sizeof(HeapHashSet<Member<Knot>>) == 4);
static_assert(sizeof(HashSlot<Member<Knot>, hash_table_details::Nothing>) == 4);

TEST_F(HashTables, KeepStrongKeysAndValues) {
  Persistent<Tables> tables = make_one<Tables>();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(tables->strong.insert(heap_, make_one<Knot>(i), make_one<Knot>(-i)));
  collect();
  EXPECT_EQ(live(), 2002u);
  EXPECT_EQ(tables->strong.size(), 1000u);
  int seen = 0;
  tables->strong.for_each([&](Knot* key, const Member<Knot>& value) {
    EXPECT_EQ(key->value, -value->value);
    EXPECT_EQ(tables->strong.find(key), &value);
    ++seen;
  });
  EXPECT_EQ(seen, 1000);
}

TEST_F(HashTables, HaveNoEntryForNull) {
  Persistent<Tables> tables = make_one<Tables>();
  Knot* knot = make_one<Knot>();
  ASSERT_TRUE(tables->strong.insert(heap_, knot, knot));
  EXPECT_EQ(tables->strong.find(nullptr), nullptr);
  EXPECT_FALSE(tables->strong.erase(nullptr));
  EXPECT_EQ(tables->strong.size(), 1u);
}

TEST_F(HashTables, LoseEntriesWhoseWeakKeysDie) {
  Persistent<Tables> tables = make_one<Tables>();
  RootedVector<Member<Knot>> kept;
  for (int i = 0; i < 3000; ++i) {
    Knot* key = make_one<Knot>(i);
    Knot* value = make_one<Knot>(-i);
    value->left = key;  // keeps nobody
    ASSERT_TRUE(tables->weak.insert(heap_, key, value));
    ASSERT_TRUE(tables->set.insert(heap_, key));
    ASSERT_TRUE(tables->numbers.insert(heap_, key, i));
    if (i % 3 == 0) {
      ASSERT_TRUE(kept.push_back(heap_, key));
    }
  }
  collect();
  EXPECT_EQ(tables->weak.size(), 1000u);
  EXPECT_EQ(tables->set.size(), 1000u);
  EXPECT_EQ(tables->numbers.size(), 1000u);
  for (const Member<Knot>& key : kept) {
    ASSERT_TRUE(tables->weak.contains(key));
    EXPECT_EQ((*tables->weak.find(key))->value, -key->value);
    EXPECT_EQ(*tables->numbers.find(key), key->value);
    EXPECT_TRUE(tables->set.contains(key));
  }
  kept.clear(heap_);
  collect();
  EXPECT_TRUE(tables->weak.empty());
  EXPECT_EQ(live(), 4u);  // their owner and three arrays
}

TEST_F(HashTables, SetWeakValuesToNull) {
  Persistent<Tables> tables = make_one<Tables>();
  Knot* key = make_one<Knot>(1);
  ASSERT_TRUE(tables->weak_values.insert(heap_, key, make_one<Knot>(2)));
  collect();
  EXPECT_EQ(tables->weak_values.size(), 1u);
  EXPECT_EQ(*tables->weak_values.find(key), nullptr);
}

TEST_F(HashTables, AgreeWithTheStandardLibrarys) {
  Persistent<Tables> tables = make_one<Tables>();
  RootedVector<Member<Knot>> keys;
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(keys.push_back(heap_, make_one<Knot>(i)));
  std::map<int, int> expected;
  unsigned random = 7;
  for (int step = 0; step < 50'000; ++step) {
    random = random * 1'103'515'245 + 12'345;
    Knot* key = keys[(random >> 12) % keys.size()];
    switch (random >> 28) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        ASSERT_TRUE(tables->numbers.insert(heap_, key, step));
        expected[key->value] = step;
        break;
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11:
        ASSERT_EQ(tables->numbers.erase(key), expected.erase(key->value) != 0);
        break;
      default: {
        const int* found = tables->numbers.find(key);
        const auto wanted = expected.find(key->value);
        ASSERT_EQ(found != nullptr, wanted != expected.end());
        if (found != nullptr) {
          ASSERT_EQ(*found, wanted->second);
        }
        break;
      }
    }
    if (step % 10'000 == 0) collect();
    ASSERT_EQ(tables->numbers.size(), expected.size());
  }
  tables->numbers.clear(heap_);
  EXPECT_FALSE(tables->numbers.contains(keys[0]));
}

// Also of a table that only the stack has. Keys die while it is gone through; the one that it is at doesn't.
TEST_F(HashTables, MayLoseEntriesWhileTheyAreGoneThrough) {
  Tables* tables = make_one<Tables>();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(tables->weak.insert(heap_, make_one<Knot>(i), make_one<Knot>(-i)));
  std::size_t visited = 0;
  tables->weak.for_each([&](Knot* key, const Member<Knot>& value) {
    heap_.collect(StackState::MayHoldPointers);
    ++visited;
    EXPECT_EQ(key->value, -value->value);
    EXPECT_EQ(tables->weak.find(key), &value);
  });
  EXPECT_GE(visited, 1u);
  EXPECT_LT(visited, 50u) << "the rest was dropped by the first collection, but for what the stack seems to have";
  EXPECT_LE(tables->weak.size(), visited);
}

TEST_F(HashTables, CollectWhileTheyGrow) {
  HeapOptions options;
  options.least_growth_bytes = std::size_t{64} << 10;
  remake(options);
  Persistent<Tables> tables = make_one<Tables>();
  RootedVector<Member<Knot>> kept;
  for (int i = 0; i < 20'000; ++i) {
    Knot* key = make_one<Knot>(i);
    ASSERT_TRUE(tables->weak.insert(heap_, key, make_one<Knot>(-i)));
    if (i % 10 == 0) {
      ASSERT_TRUE(kept.push_back(heap_, key));
    }
  }
  EXPECT_GT(heap_.use().collections, 3u);
  collect();
  EXPECT_EQ(tables->weak.size(), 2000u);
  for (const Member<Knot>& key : kept) ASSERT_EQ((*tables->weak.find(key))->value, -key->value);
}

// The array and its keys take some 250 MB.
TEST_F(HashTables, HoldsAsManyAsThereIsMemoryFor) {
  if (kSanitized) GTEST_SKIP() << "millions of objects take too long";
  struct Key : GarbageCollected<Key> {
    explicit Key(int number) : number(number) {}
    void trace(Visitor&) const {}
    int number;
  };
  struct Table : GarbageCollected<Table> {
    void trace(Visitor& visitor) const { visitor.trace(numbers); }
    HeapHashMap<Member<Key>, int> numbers;
  };
  HeapOptions options;
  options.collections = Collections::ByHand;
  remake(options);
  constexpr int kEntries = 6'400'000;  // 24 bits once counted the slots of the half
  Persistent<Table> table = make_one<Table>();
  Persistent<Key> some;
  for (int i = 0; i < kEntries; ++i) {
    Key* key = make_one<Key>(i);
    ASSERT_NE(key, nullptr);
    ASSERT_TRUE(table->numbers.insert(heap_, key, i)) << i;
    if (i == 1'234'567) some = key;
  }
  EXPECT_EQ(table->numbers.size(), static_cast<std::size_t>(kEntries));
  EXPECT_EQ(*table->numbers.find(some.get()), 1'234'567);
  EXPECT_TRUE(table->numbers.erase(some.get()));
  EXPECT_FALSE(table->numbers.contains(some.get()));
}

}  // namespace
}  // namespace tare::gc
