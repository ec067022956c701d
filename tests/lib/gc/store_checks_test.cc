#include "tare/gc/store_checks.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "groups.h"
#include "heap_fixture.h"
#include "tare/gc/heap_vector.h"

namespace tare::gc {
namespace {

using namespace testing;

struct CheckedGroup : GroupOf<SplitDecoding<15>> {
  static constexpr StoreChecks kStoreChecks = StoreChecks::Full;
};
struct CheckedPage : GarbageCollected<CheckedPage, CheckedGroup> {
  CheckedPage() = default;
  explicit CheckedPage(CheckedPage* page) : first(page) {}
  void trace(Visitor& visitor) const {
    visitor.trace(first);
    visitor.trace(weak);
    if (maybe) visitor.trace(*maybe);
    visitor.trace(more);
  }
  Member<CheckedPage, CheckedGroup> first;
  WeakMember<CheckedPage, CheckedGroup> weak;
  std::optional<Member<CheckedPage, CheckedGroup>> maybe;
  HeapVector<Member<CheckedPage, CheckedGroup>, CheckedGroup> more;
};
using PageMember = Member<CheckedPage, CheckedGroup>;

class StoreCheckTest : public ::testing::Test {
 protected:
  HeapOf<CheckedGroup> heap_ = std::move(HeapOf<CheckedGroup>::create().value());
  HeapOf<CheckedGroup> other_ = std::move(HeapOf<CheckedGroup>::create().value());
  Persistent<CheckedPage> page_ = make<CheckedPage>(heap_);
  Persistent<CheckedPage> foreign_ = make<CheckedPage>(other_);
};
using StoresThatAreChecked = StoreCheckTest;

TEST_F(StoresThatAreChecked, AreFreeWhereMembersMayLie) {
  page_->first = page_.get();
  page_->first = nullptr;
  page_->weak = page_->first;
  page_->maybe.emplace(page_.get());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(page_->more.push_back(heap_, make<CheckedPage>(heap_, page_.get())));
  PageMember local = page_.get();
  PageMember copy = local;
  local = foreign_.get();  // of this thread, too
  std::swap(local, copy);
  const std::optional<PageMember> maybe = copy;
  EXPECT_EQ(*maybe, foreign_.get());
  const auto global = std::make_unique<UntracedMember<CheckedPage, CheckedGroup>>(page_.get());  // who uses it knows
  EXPECT_EQ(global->get(), page_.get());
  const auto empty = std::make_unique<PageMember>();
  *empty = nullptr;
  *empty = kSentinelPtr;
  heap_.collect(StackState::MayHoldPointers);
  EXPECT_EQ(page_->more.size(), 100u);
}

TEST_F(StoresThatAreChecked, EndTheProgramWhereAMemberIsGivenAnotherHeapsObject) {
  const char* const message = "a Member of one heap is given an object of another";
  EXPECT_DEATH(page_->first = foreign_.get(), message);
  EXPECT_DEATH(page_->weak = foreign_.get(), message);
  EXPECT_DEATH(page_->maybe.emplace(foreign_.get()), message);
  EXPECT_DEATH(static_cast<void>(make<CheckedPage>(heap_, foreign_.get())), message);
  page_->first = page_.get();
  const PageMember local = foreign_.get();
  EXPECT_DEATH(page_->first = local, message);
}

TEST_F(StoresThatAreChecked, EndTheProgramWhereAMemberLiesInMemoryThatNobodyTraces) {
  const char* const message = "a Member lies neither in a heap nor on the stack.*take a Persistent";
  const auto lost = std::make_unique<PageMember>();
  EXPECT_DEATH(*lost = page_.get(), message);
  EXPECT_DEATH(static_cast<void>(std::make_unique<PageMember>(page_.get())), message);
  static PageMember global;
  EXPECT_DEATH(global = page_.get(), message);
  std::vector<PageMember> several(3);
  EXPECT_DEATH(several[1] = page_.get(), message);
  const PageMember local = page_.get();
  EXPECT_DEATH(several.push_back(local), message);
}

TEST_F(StoresThatAreChecked, EndTheProgramWhereALambdaThatHasAMemberIsKept) {
  const PageMember local = page_.get();
  const auto first = [local, larger_than_std_function_has_room_for = std::array<void*, 4>{}] {
    static_cast<void>(larger_than_std_function_has_room_for);
    return local.get();
  };
  EXPECT_EQ(first(), page_.get());  // on the stack it may be
  EXPECT_DEATH(std::function<CheckedPage*()> kept = first, "a Member lies neither in a heap nor on the stack");
}

struct PageOfDefaultGroup : GarbageCollected<PageOfDefaultGroup> {
  void trace(Visitor&) const {}
};

TEST(StoresOfTheDefaultGroup, AreCheckedAsAssertionsAre) {
  static_assert(kStoreChecksOf<DefaultGroup> == StoreChecks::Full);  // this test isn't built with NDEBUG
  Heap heap = std::move(Heap::create().value());
  Persistent<PageOfDefaultGroup> page = make<PageOfDefaultGroup>(heap);
  static Member<PageOfDefaultGroup> global;
  EXPECT_DEATH(global = page.get(), "a Member lies neither in a heap nor on the stack");
}

TEST_F(StoresThatAreChecked, EndTheProgramWhereAThreadsStackHasAnotherThreadsObject) {
  EXPECT_DEATH(std::thread([&] {
                 PageMember local;
                 local = page_.get();
               }).join(),
               "a Member on the stack is given an object of another thread's heap: take a CrossThreadPersistent");
}

TEST_F(StoresThatAreChecked, EndTheProgramWhereAMemberIsGivenNoObject) {
  PageMember local;
  EXPECT_DEATH(local = PageMember::from_bits(local.bits() + (1U << 26)), "what is no object of its group's heaps");
}

}  // namespace
}  // namespace tare::gc
