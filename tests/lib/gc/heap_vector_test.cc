#include "tare/gc/heap_vector.h"

#include <numeric>
#include <string>
#include <vector>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Vectors = HeapTest;

struct Owner : GarbageCollected<Owner> {
  void trace(Visitor& visitor) const {
    visitor.trace(knots);
    visitor.trace(numbers);
    visitor.trace(weak);
  }
  HeapVector<Member<Knot>> knots;
  HeapVector<int> numbers;
  HeapVector<WeakMember<Knot>> weak;
};

static_assert(sizeof(HeapVector<Member<Knot>>) == 4);

TEST_F(Vectors, KeepWhatTheyHold) {
  Persistent<Owner> owner = make_one<Owner>();
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(owner->knots.push_back(heap_, make_one<Knot>(i)));
    ASSERT_TRUE(owner->numbers.push_back(heap_, i));
  }
  collect();
  EXPECT_EQ(live(), 10'000u + 3);  // and two arrays
  ASSERT_EQ(owner->knots.size(), 10'000u);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(owner->knots[static_cast<std::size_t>(i)]->value, i);
    ASSERT_EQ(owner->numbers[static_cast<std::size_t>(i)], i);
  }
  owner->knots.truncate(10);
  collect();
  EXPECT_EQ(live(), 13u);
  EXPECT_TRUE(owner->knots.shrink_to_fit(heap_));
  EXPECT_LT(owner->knots.capacity(), 20u);
  EXPECT_EQ(owner->knots.back()->value, 9);
}

TEST_F(Vectors, AgreeWithTheStandardLibrarys) {
  Persistent<Owner> owner = make_one<Owner>();
  std::vector<int> expected;
  unsigned random = 1;
  for (int step = 0; step < 20'000; ++step) {
    random = random * 1'103'515'245 + 12'345;
    const unsigned choice = random >> 16 & 7;
    const std::size_t at = expected.empty() ? 0 : (random >> 20) % expected.size();
    if (choice < 4 || expected.empty()) {
      ASSERT_TRUE(owner->numbers.push_back(heap_, step));
      expected.push_back(step);
    } else if (choice == 4) {
      owner->numbers.erase(at);
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (choice == 5) {
      ASSERT_TRUE(owner->numbers.insert(heap_, at, step));
      expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), step);
    } else if (choice == 6) {
      owner->numbers.pop_back();
      expected.pop_back();
    } else {
      ASSERT_TRUE(owner->numbers.resize(heap_, at));
      expected.resize(at);
    }
    if (step % 4000 == 0) collect();
    ASSERT_EQ(owner->numbers.size(), expected.size());
  }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), owner->numbers.begin(), owner->numbers.end()));
}

TEST_F(Vectors, OfWeakMembersLoseTheDead) {
  Persistent<Owner> owner = make_one<Owner>();
  for (int i = 0; i < 10; ++i) {
    Knot* knot = make_one<Knot>(i);
    ASSERT_TRUE(owner->weak.push_back(heap_, knot));
    if (i % 2 == 0) {
      ASSERT_TRUE(owner->knots.push_back(heap_, knot));
    }
  }
  collect();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(static_cast<bool>(owner->weak[i]), i % 2 == 0) << i;
}

TEST_F(Vectors, GiveBackWhatTheyDontNeed) {
  RootedVector<Member<Knot>> rooted;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(rooted.push_back(heap_, make_one<Knot>(i)));
  const Member<Knot>* large = rooted.data();
  rooted.truncate(100);
  EXPECT_TRUE(rooted.shrink_to_fit(heap_));
  EXPECT_NE(rooted.data(), large);
  EXPECT_LT(rooted.capacity(), 120u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(rooted[i]->value, static_cast<int>(i));
  heap_.for_each_type([](const TypeUse& type) {
    if (type.name.find("VectorArray") != type.name.npos) {
      EXPECT_EQ(type.objects, 1u) << "the old one is freed at once";
    }
  });

  const Member<Knot>* fitting = rooted.data();
  rooted.pop_back();  // a cell that is 4 bytes smaller: there's none
  EXPECT_TRUE(rooted.shrink_to_fit(heap_));
  EXPECT_EQ(rooted.data(), fitting);
}

TEST_F(Vectors, OfElementsWithDestructorsRunThem) {
  struct Names : GarbageCollected<Names> {
    void trace(Visitor& visitor) const { visitor.trace(names); }
    HeapVector<std::string> names;
  };
  Persistent<Names> names = make_one<Names>();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(names->names.push_back(heap_, std::string(50, 'x')));  // or they leak
  names->names.erase(500);
  EXPECT_EQ(names->names[998], std::string(50, 'x'));
  names->names.clear(heap_);
  EXPECT_TRUE(names->names.empty());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(names->names.push_back(heap_, std::string(50, 'y')));
  names = nullptr;
  collect();
}

TEST_F(Vectors, ThatAreRootedKeepTheirElements) {
  RootedVector<Member<Knot>> rooted;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(rooted.push_back(heap_, make_one<Knot>(i)));
  collect();
  EXPECT_EQ(live(), 101u);
  RootedVector<Member<Knot>> moved = std::move(rooted);
  collect();
  EXPECT_EQ(moved[99]->value, 99);
  EXPECT_EQ(moved.size(), 100u);
  EXPECT_TRUE(rooted.empty());
  moved.clear(heap_);
  collect();
  EXPECT_EQ(live(), 0u);
}

TEST_F(Vectors, StayAsTheyWereWithoutMemory) {
  HeapOptions options;
  options.budget_bytes = std::size_t{1} << 20;
  remake(options);
  RootedVector<std::uint64_t> rooted;
  std::uint64_t count = 0;
  while (rooted.push_back(heap_, count)) ++count;
  EXPECT_GT(count, 20'000u);
  EXPECT_EQ(rooted.size(), count);
  EXPECT_EQ(rooted.back(), count - 1);
  EXPECT_FALSE(rooted.reserve(heap_, std::size_t{1} << 40));
}

}  // namespace
}  // namespace tare::gc
