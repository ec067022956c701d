#include "tare/gc/member.h"

#include <unordered_set>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Members = HeapTest;

struct Derived : Knot {};

static_assert(sizeof(Member<Knot>) == 4 && sizeof(WeakMember<Knot>) == 4 && sizeof(UntracedMember<Knot>) == 4);
static_assert(sizeof(UncompressedMember<Knot>) == 8);
static_assert(std::is_trivially_destructible_v<Member<Knot>>);
static_assert(std::is_convertible_v<Member<Derived>, Member<Knot>>);
static_assert(!std::is_convertible_v<Member<Knot>, Member<Derived>>);
static_assert(std::is_convertible_v<Member<Knot>, WeakMember<Knot>>);
static_assert(std::is_convertible_v<Member<Knot>, Member<const Knot>>);
static_assert(!std::is_convertible_v<Member<const Knot>, Member<Knot>>);

// Classes may be declared only where others have Members of them, and be complete where those are traced.
struct Later;
struct Earlier : GarbageCollected<Earlier> {
  inline void trace(Visitor& visitor) const;
  Member<Later> later;
  WeakMember<Later> weak;
  UncompressedMember<Later> wide;
};
template <class T>
concept IsComplete = requires { sizeof(T); };
template <class T>
concept CanBeMade = requires(Heap& heap) { make<T>(heap); };
static_assert(!IsComplete<Later> && sizeof(Earlier) == 16);
static_assert(!CanBeMade<struct NeverDefined> && !CanBeMade<int> && CanBeMade<Knot>);
struct Later : GarbageCollected<Later> {
  void trace(Visitor& visitor) const { visitor.trace(earlier); }
  Member<Earlier> earlier;
};
void Earlier::trace(Visitor& visitor) const {
  visitor.trace(later);
  visitor.trace(weak);
  visitor.trace(wide);
}

TEST_F(Members, MayPointToClassesThatAreCompleteLater) {
  Persistent<Earlier> earlier = make_one<Earlier>();
  earlier->later = make_one<Later>();
  earlier->later->earlier = earlier.get();
  earlier->weak = earlier->wide = make_one<Later>();
  collect();
  EXPECT_EQ(live(), 3u);
  earlier->wide.clear();
  collect();
  EXPECT_EQ(live(), 2u);
  EXPECT_EQ(earlier->weak, nullptr);
}

TEST_F(Members, AreReleased) {
  Member<Knot> member = make_one<Knot>(3);
  Knot* released = member.release();
  EXPECT_EQ(released->value, 3);
  EXPECT_EQ(member, nullptr);
  EXPECT_EQ(member.release(), nullptr);
}

TEST_F(Members, StartAsNull) {
  const Member<Knot> member;
  EXPECT_EQ(member, nullptr);
  EXPECT_FALSE(member);
  EXPECT_EQ(member.get(), nullptr);
  EXPECT_EQ(Member<Knot>(nullptr), member);
}

TEST_F(Members, PointToWhatTheyAreGiven) {
  Knot* knot = make_one<Knot>(3);
  Member<Knot> member = knot;
  EXPECT_EQ(member, knot);
  EXPECT_EQ(knot, member);
  EXPECT_EQ(member->value, 3);
  EXPECT_EQ((*member).value, 3);
  EXPECT_TRUE(member);
  EXPECT_TRUE(member.is_object());
  member.clear();
  EXPECT_EQ(member, nullptr);
  EXPECT_NE(member, knot);
}

TEST_F(Members, AreCopiedAcrossStrengthsAndClasses) {
  Derived* derived = make_one<Derived>();
  const Member<Derived> strong = derived;
  const WeakMember<Derived> weak = strong;
  const UntracedMember<Derived> untraced = weak;
  const Member<Knot> base = untraced;
  const UncompressedMember<Knot> wide = base;
  EXPECT_EQ(base.get(), derived);
  EXPECT_EQ(wide.get(), derived);
  EXPECT_EQ(strong, weak);
  EXPECT_EQ(weak, untraced);
  const Member<Knot> none = Member<Derived>();
  EXPECT_EQ(none, nullptr);
  const Member<Knot> deleted = Member<Derived>(kSentinelPtr);
  EXPECT_TRUE(deleted.is_sentinel());
}

TEST_F(Members, HoldTheSentinel) {
  const Member<Knot> member = kSentinelPtr;
  EXPECT_TRUE(member.is_sentinel());
  EXPECT_TRUE(member);
  EXPECT_FALSE(member.is_object());
  EXPECT_EQ(member, kSentinelPtr);
  EXPECT_NE(member, nullptr);
  EXPECT_NE(member.get(), nullptr);
  EXPECT_EQ(Member<Knot>(member.get()), member);
}

TEST_F(Members, Swap) {
  Member<Knot> a = make_one<Knot>(1);
  Member<Knot> b = make_one<Knot>(2);
  a.swap(b);
  EXPECT_EQ(a->value, 2);
  EXPECT_EQ(b->value, 1);
}

TEST_F(Members, AreOrderedAndHashedWithoutBeingDecoded) {
  Knot* low = make_one<Knot>(1);
  Knot* high = make_one<Knot>(2);
  ASSERT_LT(low, high);
  EXPECT_LT(Member<Knot>(low), Member<Knot>(high));
  EXPECT_LT(Member<Knot>(), Member<Knot>(low));
  EXPECT_LT(Member<Knot>(kSentinelPtr), Member<Knot>(low));
  std::unordered_set<UntracedMember<Knot>> set{low, high, low};  // others mustn't lie in what malloc gave
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.contains(high));
  EXPECT_EQ(std::hash<Member<Knot>>()(high), std::hash<UntracedMember<Knot>>()(high));
}

}  // namespace
}  // namespace tare::gc
