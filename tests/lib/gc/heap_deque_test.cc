#include "tare/gc/heap_deque.h"

#include <deque>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Deques = HeapTest;

struct Queue : GarbageCollected<Queue> {
  void trace(Visitor& visitor) const {
    visitor.trace(knots);
    visitor.trace(weak);
  }
  HeapDeque<Member<Knot>> knots;
  HeapDeque<WeakMember<Knot>> weak;
};

TEST_F(Deques, AgreeWithTheStandardLibrarys) {
  Persistent<Queue> queue = make_one<Queue>();
  std::deque<int> expected;
  unsigned random = 5;
  for (int step = 0; step < 30'000; ++step) {
    random = random * 1'103'515'245 + 12'345;
    const unsigned choice = random >> 16 & 7;
    if (choice < 3 || expected.empty()) {
      ASSERT_TRUE(queue->knots.push_back(heap_, make_one<Knot>(step)));
      expected.push_back(step);
    } else if (choice < 5) {
      ASSERT_TRUE(queue->knots.push_front(heap_, make_one<Knot>(step)));
      expected.push_front(step);
    } else if (choice == 5) {
      ASSERT_EQ(queue->knots.take_front()->value, expected.front());
      expected.pop_front();
    } else {
      ASSERT_EQ(queue->knots.take_back()->value, expected.back());
      expected.pop_back();
    }
    ASSERT_EQ(queue->knots.size(), expected.size());
    if (step % 3000 == 0) {
      collect();
      EXPECT_EQ(live(), expected.size() + 2);
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(queue->knots[i]->value, expected[i]);
  queue->knots.clear(heap_);
  EXPECT_TRUE(queue->knots.empty());
  collect();
  EXPECT_EQ(live(), 1u);
}

TEST_F(Deques, OfWeakMembersLoseTheDead) {
  Persistent<Queue> queue = make_one<Queue>();
  for (int i = 0; i < 10; ++i) {
    Knot* knot = make_one<Knot>(i);
    ASSERT_TRUE(queue->weak.push_front(heap_, knot));
    if (i % 2 == 0) {
      ASSERT_TRUE(queue->knots.push_back(heap_, knot));
    }
  }
  collect();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(static_cast<bool>(queue->weak[i]), i % 2 == 1) << i;
}

}  // namespace
}  // namespace tare::gc
