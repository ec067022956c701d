#include "tare/gc/trace_std.h"

#include "heap_fixture.h"
#include "tare/gc/heap_vector.h"

namespace tare::gc {
namespace {

using namespace testing;

using TraceStd = HeapTest;

struct MixedStd : GarbageCollected<MixedStd> {
  void trace(Visitor& visitor) const {
    visitor.trace(optional);
    visitor.trace(variant);
    visitor.trace(pair);
    visitor.trace(array);
    visitor.trace(pairs);
    visitor.trace(weak);
  }
  std::optional<Member<Knot>> optional;
  std::variant<std::monostate, int, Member<Knot>> variant;
  std::pair<int, Member<Knot>> pair;
  std::array<Member<Knot>, 3> array;
  HeapVector<std::pair<Member<Knot>, int>> pairs;
  std::optional<WeakMember<Knot>> weak;
};

TEST_F(TraceStd, FindsMembersInTheStandardLibrarysValues) {
  Persistent<MixedStd> mixed = make_one<MixedStd>();
  collect();
  EXPECT_EQ(live(), 1u);
  mixed->optional = make_one<Knot>(1);
  mixed->variant = Member<Knot>(make_one<Knot>(2));
  mixed->pair = {3, make_one<Knot>(3)};
  mixed->array[2] = make_one<Knot>(4);
  ASSERT_TRUE(mixed->pairs.push_back(heap_, {make_one<Knot>(5), 5}));
  mixed->weak = *mixed->optional;
  collect();
  EXPECT_EQ(live(), 7u);
  EXPECT_EQ((*mixed->optional)->value, 1);
  EXPECT_EQ(std::get<Member<Knot>>(mixed->variant)->value, 2);
  EXPECT_EQ(mixed->pairs[0].first->value, 5);
  EXPECT_EQ(*mixed->weak, *mixed->optional);
  mixed->optional.reset();
  mixed->variant = 7;
  collect();
  EXPECT_EQ(live(), 5u);
  EXPECT_EQ(*mixed->weak, nullptr);
}

}  // namespace
}  // namespace tare::gc
