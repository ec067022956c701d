// Maps of the collector with any key beside std::unordered_map, whole through collections, and their destructors.
#include "tare/gc/heap_map.h"

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/sanitized.h"
#include "tare/atom_table.h"

namespace tare::gc {
namespace {

using namespace testing;
using HeapMaps = HeapTest;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
struct SameHash {
  std::size_t operator()(int) const { return 7; }
};

struct Maps : GarbageCollected<Maps> {
  void trace(Visitor& visitor) const {
    visitor.trace(numbers);
    visitor.trace(names);
    visitor.trace(texts);
    visitor.trace(set);
    visitor.trace(colliding);
    visitor.trace(shared);
  }
  HeapMap<std::uint64_t, Member<Knot>> numbers;
  HeapMap<Atom, Member<Knot>> names;
  HeapMap<std::string, Member<Knot>, DefaultGroup, TextHash> texts;
  HeapSet<int> set;
  HeapMap<int, int, DefaultGroup, SameHash> colliding;
  HeapMap<int, std::shared_ptr<int>> shared;
};
static_assert(sizeof(HeapMap<std::string, int>) == 4);

TEST_F(HeapMaps, AgreeWithStdUnorderedMap) {
  constexpr int kOperations = kSanitized ? 20'000 : 1'000'000;
  Persistent<Maps> maps = make_one<Maps>();
  std::unordered_map<std::uint64_t, int> model;
  std::mt19937_64 random(3);
  for (int i = 0; i < kOperations; ++i) {
    const std::uint64_t key = random() % 4 == 0 ? random() % 64 << 58 : random() % 5000;
    switch (random() % 5) {
      case 0:
      case 1:
        ASSERT_TRUE(maps->numbers.insert(heap_, key, make_one<Knot>(i)));
        model[key] = i;
        break;
      case 2:
        EXPECT_EQ(maps->numbers.erase(key), model.erase(key) == 1);
        break;
      default: {
        const Member<Knot>* found = maps->numbers.find(key);
        ASSERT_EQ(found != nullptr, model.contains(key));
        if (found != nullptr) {
          ASSERT_EQ((*found)->value, model.at(key));
        }
        break;
      }
    }
    ASSERT_EQ(maps->numbers.size(), model.size());
    if (i % 100'000 == 0) collect();
  }
  collect();
  std::map<std::uint64_t, int> seen;
  for (auto [key, value] : maps->numbers) seen.emplace(key, value->value);
  EXPECT_EQ(seen, (std::map<std::uint64_t, int>(model.begin(), model.end())));
  EXPECT_GE(live(), model.size() + 2);  // the map's array, too
  maps->numbers.clear(heap_);
  EXPECT_TRUE(maps->numbers.empty() && maps->numbers.begin() == maps->numbers.end());
  collect();
  EXPECT_EQ(live(), 1u);
}

TEST_F(HeapMaps, HaveAtomsAndStringsForKeys) {
  AtomTable table;
  Persistent<Maps> maps = make_one<Maps>();
  for (int i = 0; i < 1000; ++i) {
    const std::string text = "a key that is longer than a string has room for " + std::to_string(i);
    ASSERT_TRUE(maps->names.insert(heap_, table.intern(text), make_one<Knot>(i)));
    ASSERT_TRUE(maps->texts.insert(heap_, text, make_one<Knot>(i)));
  }
  collect();
  EXPECT_EQ(table.use().used_atoms, 1000u);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = "a key that is longer than a string has room for " + std::to_string(i);
    EXPECT_EQ((*maps->names.find(table.find(text)))->value, i);
    EXPECT_EQ((*maps->texts.find(std::string_view(text)))->value, i);  // without making a string
  }
  EXPECT_TRUE(maps->names.erase(table.find("a key that is longer than a string has room for 7")));
  EXPECT_EQ(table.use().used_atoms, 999u);  // keys go with their entries
  maps = nullptr;
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(table.use().used_atoms, 0u);  // and with the table
}

TEST_F(HeapMaps, TakeAnyNumberForAKey) {
  Persistent<Maps> maps = make_one<Maps>();
  for (const std::uint64_t key : {0ULL, 1ULL, ~0ULL, 1ULL << 63}) {
    EXPECT_EQ(maps->numbers.find(key), nullptr);
    ASSERT_TRUE(maps->numbers.insert(heap_, key, make_one<Knot>(1)));
    EXPECT_TRUE(maps->numbers.contains(key));
  }
  ASSERT_TRUE(maps->set.insert(heap_, -5) && maps->set.insert(heap_, 0) && maps->set.insert(heap_, -5));
  EXPECT_EQ(maps->set.size(), 2u);
  std::set<int> seen;
  maps->set.for_each([&](int key) { seen.insert(key); });
  EXPECT_EQ(seen, (std::set<int>{-5, 0}));
  EXPECT_TRUE(maps->set.erase(-5) && !maps->set.erase(-5));
}

TEST_F(HeapMaps, AreRightWhereAllHashesAreOne) {
  Persistent<Maps> maps = make_one<Maps>();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(maps->colliding.insert(heap_, i, 2 * i));
  for (int i = 0; i < 300; i += 2) EXPECT_TRUE(maps->colliding.erase(i));
  for (int i = 0; i < 300; ++i) {
    const int* value = maps->colliding.find(i);
    ASSERT_EQ(value != nullptr, i % 2 == 1);
    if (value != nullptr) EXPECT_EQ(*value, 2 * i);
  }
}

TEST_F(HeapMaps, DestroyWhatTheyHoldOnce) {
  const auto counted = std::make_shared<int>(7);
  Persistent<Maps> maps = make_one<Maps>();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(maps->shared.insert(heap_, i, counted));
  EXPECT_EQ(counted.use_count(), 501);
  std::shared_ptr<int>* made = maps->shared.find_or_insert(heap_, 1000);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(*made, nullptr);
  EXPECT_EQ(*maps->shared.find_or_insert(heap_, 3), counted);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(maps->shared.erase(i));
  EXPECT_EQ(counted.use_count(), 401);
  maps->shared.clear(heap_);
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(counted.use_count(), 1);
}

TEST_F(HeapMaps, WithoutMemoryNothingChanges) {
  remake({.budget_bytes = std::size_t{2} << 20});
  Persistent<Maps> maps = make_one<Maps>();
  std::uint64_t count = 0;
  while (count < 10'000'000 && maps->numbers.insert(heap_, count, nullptr)) ++count;
  EXPECT_LT(count, 10'000'000u);
  EXPECT_EQ(maps->numbers.size(), count);
  for (std::uint64_t key = 0; key < count; ++key) ASSERT_TRUE(maps->numbers.contains(key));
  EXPECT_FALSE(maps->numbers.contains(count));
}

}  // namespace
}  // namespace tare::gc
