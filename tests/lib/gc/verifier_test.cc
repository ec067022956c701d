// The verifier ends a program whose trace() isn't the same twice.
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

// A prefinalizer that stores its object where something living has it.
struct Clinging : GarbageCollected<Clinging> {
  explicit Clinging(int) {}
  void prefinalize() {
    if (to_member != nullptr) to_member->hold = this;
    if (to_root != nullptr) *to_root = this;
  }
  void trace(Visitor& visitor) const { visitor.trace(hold); }
  Member<Clinging> hold;
  static inline Clinging* to_member = nullptr;
  static inline Persistent<Clinging>* to_root = nullptr;
};

TEST_F(Verifier, EndsTheProgramWhereAPrefinalizerHasSavedItsObject) {
  static Persistent<Clinging> root;
  Persistent<Clinging> living = make_one<Clinging>(1);
  EXPECT_DEATH(
      {
        Clinging::to_member = living.get();
        static_cast<void>(make_one<Clinging>(2));
        collect();
      },
      "verifier: .*Clinging at .* points to .*Clinging at .*, which isn't marked");
  EXPECT_DEATH(
      {
        Clinging::to_root = &root;
        static_cast<void>(make_one<Clinging>(3));
        collect();
      },
      "verifier: a Persistent .* points to .*Clinging at .*, which isn't marked");
}

// The same of weak ones.
struct WeakHiding : GarbageCollected<WeakHiding> {
  explicit WeakHiding(Knot* knot) : hidden(knot) {}
  void trace(Visitor& visitor) const {
    if (times++ > 0) visitor.trace(hidden);
  }
  WeakMember<Knot> hidden;
  mutable int times = 0;
};
struct Haunting : GarbageCollected<Haunting> {
  explicit Haunting(Haunting* other) : seen_by(other) {}
  void prefinalize() {
    if (seen_by) seen_by->seen = this;
  }
  void trace(Visitor& visitor) const {
    visitor.trace(seen_by);
    visitor.trace(seen);
  }
  Member<Haunting> seen_by;
  WeakMember<Haunting> seen;
};

TEST_F(Verifier, EndsTheProgramWhereAWeakMemberWasForgotten) {
  const Persistent<WeakHiding> hiding = make_one<WeakHiding>(make_one<Knot>(1));
  EXPECT_DEATH(collect(), "verifier: .*WeakHiding at .* points to .*Knot at .*, which isn't marked");
}

TEST_F(Verifier, EndsTheProgramWhereAPrefinalizerHasItsObjectRemembered) {
  const Persistent<Haunting> living = make_one<Haunting>(nullptr);
  static_cast<void>(make_one<Haunting>(living.get()));
  EXPECT_DEATH(collect(), "verifier: .*Haunting at .* points to .*Haunting at .*, which isn't marked");
}

struct Wide : GarbageCollected<Wide> {
  void trace(Visitor&) const {}
  std::uint64_t zeros[8] = {};
};

TEST_F(Verifier, EndsTheProgramWhereAMarkIsNoObjects) {
  remake({.collections = Collections::ByHand, .pause_goal_ns = 0});
  const Persistent<Wide> wide = make_one<Wide>();
  Persistent<Knot> list;  // so many that marking takes several steps
  for (int i = 0; i < 10'000; ++i) {
    Knot* knot = make_one<Knot>(i);
    knot->left = list.get();
    list = knot;
  }
  ASSERT_FALSE(heap_.collect_some(0, StackState::HoldsNone));
  EXPECT_DEATH(
      {
        trace_again(reinterpret_cast<const Wide*>(&wide->zeros[4]));  // 32 bytes further in
        for (int steps = 0; steps < 100'000 && !heap_.collect_some(0, StackState::HoldsNone); ++steps) continue;
      },
      "something is marked that is no object");
}

struct Founder : GarbageCollected<Founder> {
  explicit Founder(Knot* knot) : first(knot) {}
  void trace(Visitor& visitor) const { visitor.trace(first); }
  Member<Knot> first;
};

TEST_F(Verifier, EndsTheProgramWhereAMemberPointsIntoAnotherHeap) {
  Heap other = std::move(Heap::create().value());
  Persistent<Knot> foreign = make<Knot>(other, 1);
  const char* const message = "verifier: .* at .* points to no object of this heap";
  EXPECT_DEATH(
      {
        Persistent<Knot> knot = make_one<Knot>(2);
        knot->left = foreign.get();
        collect();
      },
      message);
  EXPECT_DEATH(
      {
        Persistent<Founder> founder = make_one<Founder>(foreign.get());
        collect();
      },
      message);
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
