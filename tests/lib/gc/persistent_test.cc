#include "tare/gc/persistent.h"

#include <thread>
#include <utility>
#include <vector>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Persistents = HeapTest;

TEST_F(Persistents, KeepThroughCopiesMovesAndAssignments) {
  Persistent<Knot> first = make_one<Knot>(1);
  Persistent<Knot> copy = first;
  Persistent<Knot> moved = std::move(first);
  EXPECT_EQ(first.get(), nullptr);
  EXPECT_EQ(copy.get(), moved.get());
  copy = nullptr;
  collect();
  EXPECT_EQ(moved->value, 1);
  Persistent<Knot> other = make_one<Knot>(2);
  other = std::move(moved);
  collect();
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(other->value, 1);
  other = other.get();
  Persistent<Knot>& same = other;
  other = same;
  other = std::move(same);
  collect();
  EXPECT_EQ(other->value, 1);
  Knot* released = other.release();
  EXPECT_EQ(released->value, 1);
  EXPECT_EQ(other.get(), nullptr);
  collect();
  EXPECT_EQ(live(), 0u);
}

TEST_F(Persistents, LiveInContainersOfTheStandardLibrary) {
  std::vector<Persistent<Knot>> roots;
  for (int i = 0; i < 1000; ++i) roots.emplace_back(make_one<Knot>(i));
  for (std::size_t i = 0; i < 1000; i += 2) roots[i].clear();
  roots.erase(roots.begin() + 100, roots.begin() + 200);
  collect();
  EXPECT_EQ(live(), 450u);
  for (const auto& root : roots) {
    EXPECT_TRUE(!root || root->value % 2 == 1);
  }
}

// Classes that hold roots need not know what those point to.
struct Unknown;
struct RootHolder {
  Persistent<Unknown> strong;
  WeakPersistent<Unknown> weak;
};

TEST_F(Persistents, MayBeEmptyWithoutACompleteType) {
  RootHolder holder;
  EXPECT_FALSE(holder.strong);
  holder.strong = nullptr;
  EXPECT_EQ(holder.weak.get(), nullptr);
}

TEST_F(Persistents, ThatAreWeakKeepNothing) {
  WeakPersistent<Knot> weak = make_one<Knot>(1);
  Persistent<Knot> strong = weak;
  const WeakPersistent<Knot> copy = weak;
  collect();
  EXPECT_EQ(weak->value, 1);
  strong = nullptr;
  collect();
  EXPECT_EQ(weak.get(), nullptr);
  EXPECT_EQ(copy.get(), nullptr);
}

TEST_F(Persistents, ConvertFromMembersAndDerivedClasses) {
  struct Derived : Knot {};
  Persistent<Derived> derived = make_one<Derived>();
  Persistent<Knot> base = derived;
  derived->left = base.get();
  Persistent<Knot> from_member = derived->left;
  EXPECT_EQ(from_member.get(), base.get());
}

// Whatever points to an object may be assigned to whatever else does.
template <class To, class From>
void expect_assigned(const From& from, const Knot* object) {
  To to;
  to = from;
  EXPECT_EQ(to.get(), object);
  const To made(from);
  EXPECT_EQ(made.get(), object);
}
template <class From>
void expect_assigned_to_all(const From& from, const Knot* object) {
  expect_assigned<Member<Knot>>(from, object);
  expect_assigned<WeakMember<Knot>>(from, object);
  expect_assigned<UntracedMember<Knot>>(from, object);
  expect_assigned<UncompressedMember<Knot>>(from, object);
  expect_assigned<Persistent<Knot>>(from, object);
  expect_assigned<WeakPersistent<Knot>>(from, object);
}

TEST_F(Persistents, AreAssignedToMembersAndMembersToThem) {
  struct Derived : Knot {};
  Derived* derived = make_one<Derived>();
  expect_assigned_to_all(derived, derived);
  expect_assigned_to_all(Member<Derived>(derived), derived);
  expect_assigned_to_all(Member<Knot>(derived), derived);
  expect_assigned_to_all(WeakMember<Derived>(derived), derived);
  expect_assigned_to_all(UntracedMember<Derived>(derived), derived);
  expect_assigned_to_all(UncompressedMember<Knot>(derived), derived);
  expect_assigned_to_all(UncompressedMember<Derived>(derived), derived);
  expect_assigned_to_all(Persistent<Derived>(derived), derived);
  expect_assigned_to_all(WeakPersistent<Derived>(derived), derived);
  EXPECT_EQ(Persistent<Derived>(derived), Member<Knot>(derived));
  EXPECT_NE(WeakPersistent<Knot>(), UncompressedMember<Knot>(derived));
}

TEST_F(Persistents, OfOneHeapDontKeepThingsInAnother) {
  CageResult<Heap> made = Heap::create();
  Heap other = std::move(made.value());
  Persistent<Knot> here = make_one<Knot>(1);
  Persistent<Knot> there = make<Knot>(other, 2);
  here = there;  // moves to the other's list
  collect();
  EXPECT_EQ(live(), 0u);
  other.collect(StackState::HoldsNone);
  EXPECT_EQ(other.use().live_objects, 1u);
  EXPECT_TRUE(other.owns(here.get()));
  EXPECT_FALSE(heap_.owns(here.get()));
  other = Heap();
}

TEST_F(Persistents, OnAnotherThreadEndTheProgram) {
  Knot* knot = make_one<Knot>();
  EXPECT_DEATH(std::thread([&] { const Persistent<Knot> root = knot; }).join(),
               "a Persistent on another thread than its heap's: take a CrossThreadPersistent");
}

TEST_F(Persistents, ToWhatIsNoObjectEndTheProgram) {
  EXPECT_DEATH(
      {
        Knot knot;
        Persistent<Knot> root = &knot;
      },
      "a Persistent to what is no collected object");
}

}  // namespace
}  // namespace tare::gc
