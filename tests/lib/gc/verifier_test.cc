// What the verifier ends the program for: a trace() that isn't the same twice.
#include "heap_fixture.h"
#include "tare/gc/explicit.h"
#include "tare/gc/heap_vector.h"

namespace tare::gc {
namespace {

using namespace testing;

using Verifier = HeapTest;

// Names its Member the second time only: when all that is alive has been marked already.
struct Hiding : GarbageCollected<Hiding> {
  void trace(Visitor& visitor) const {
    if (times++ > 0) visitor.trace(hidden);
  }
  Member<Knot> hidden;
  mutable int times = 0;
};

TEST_F(Verifier, EndsTheProgramWhereAMarkedObjectPointsToOneThatIsNot) {
  Persistent<Hiding> hiding = make_one<Hiding>();
  hiding->hidden = make_one<Knot>(1);
  EXPECT_DEATH(collect(), "verifier: .*Hiding at .* points to .*Knot at .*, which isn't marked");
}

TEST_F(Verifier, EndsTheProgramWhereAMemberPointsToAFreedObject) {
  Persistent<Knot> knot = make_one<Knot>();
  knot->left = make_one<Knot>(1);
  Knot* freed = knot->left.get();
  free_unreferenced(heap_, freed);  // which it isn't
  EXPECT_DEATH(collect(), "verifier: .*Knot at .* points to no object of this heap");
}

TEST_F(Verifier, LeavesWhatIsRightAlone) {
  RootedVector<Member<Knot>> kept;
  for (int i = 0; i < 100; ++i) {
    Knot* knot = make_one<Knot>(i);
    knot->left = make_one<Knot>(i);
    knot->left->up = knot;
    ASSERT_TRUE(kept.push_back(heap_, knot));
  }
  collect();
  heap_.collect(StackState::MayHoldPointers);
  EXPECT_EQ(live(), 201u);
}

}  // namespace
}  // namespace tare::gc
