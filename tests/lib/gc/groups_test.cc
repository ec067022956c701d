// Groups of heaps: which one a class lives in, and that each is collected by itself.
#include "groups.h"

#include <gtest/gtest.h>

#include <utility>

#include "tare/gc/heap.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/gc/visitor.h"

namespace tare::gc {
namespace {

using namespace testing;

struct Tool : GarbageCollected<Tool, SplitGroup> {
  ~Tool() { ++destroyed; }
  void trace(Visitor& visitor) const { visitor.trace(next); }
  Member<Tool, SplitGroup> next;
  static inline int destroyed = 0;
};
struct Hammer final : Tool {};
struct Task final : GarbageCollected<Task> {
  ~Task() { ++destroyed; }
  void trace(Visitor&) const {}
  static inline int destroyed = 0;
};

// A class says it, and what derives from it follows; elsewhere it can't be made.
static_assert(std::is_same_v<Hammer::GcGroup, SplitGroup> && std::is_same_v<Task::GcGroup, DefaultGroup>);
template <class T, class SomeHeap>
concept CanBeMadeIn = requires(SomeHeap& heap) { make<T>(heap); };
static_assert(CanBeMadeIn<Hammer, HeapOf<SplitGroup>> && !CanBeMadeIn<Hammer, Heap>);
static_assert(CanBeMadeIn<Task, Heap> && !CanBeMadeIn<Task, HeapOf<SplitGroup>>);

TEST(Groups, HaveTheirObjectsInPlacesOfTheirOwn) {
  Heap tasks = std::move(Heap::create().value());
  HeapOf<SplitGroup> tools = std::move(HeapOf<SplitGroup>::create().value());
  const Persistent<Task> task = make<Task>(tasks);
  const Persistent<Hammer> hammer = make<Hammer>(tools);
  const Persistent<Tool> tool = make<Tool>(tools);
  EXPECT_TRUE(tools.owns(hammer.get()) && tools.owns(tool.get()) && !tools.owns(task.get()));
  EXPECT_TRUE(tasks.owns(task.get()) && !tasks.owns(hammer.get()));
  EXPECT_GE(tools.cage_use().used_bytes, tools.use().page_bytes);
  EXPECT_EQ(tools.cage_use().wanted_bytes, SplitGroup::kCageBytes);
  EXPECT_EQ(tasks.cage_use().wanted_bytes, DefaultGroup::kCageBytes);
}

TEST(Groups, AreSweptEachByItself) {
  Heap tasks = std::move(Heap::create().value());
  HeapOf<SplitGroup> tools = std::move(HeapOf<SplitGroup>::create().value());
  Tool::destroyed = Task::destroyed = 0;
  Persistent<Tool> kept = make<Tool>(tools);
  kept->next = make<Hammer>(tools);
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(make<Hammer>(tools));
    static_cast<void>(make<Task>(tasks));
  }
  tools.collect(StackState::HoldsNone);
  tools.finish_sweeping();
  EXPECT_EQ(Tool::destroyed, 10);
  EXPECT_EQ(Task::destroyed, 0);
  tasks.collect(StackState::HoldsNone);
  tasks.finish_sweeping();
  EXPECT_EQ(Task::destroyed, 10);
  EXPECT_EQ(tools.use().live_objects, 2u);
}

struct SameDecoding {
  using Decoding = SplitDecoding<1>;
  static constexpr std::size_t kCageBytes = std::size_t{2} << 30;
};
struct Hook final : GarbageCollected<Hook, SameDecoding> {
  void trace(Visitor& visitor) const { visitor.trace(next); }
  Member<Hook, SameDecoding> next;
};

TEST(Groups, OfOneSlotShareACageIfTheyDecodeAlike) {
  HeapOf<SplitGroup> tools = std::move(HeapOf<SplitGroup>::create().value());
  CageResult<HeapOf<SameDecoding>> made = HeapOf<SameDecoding>::create();
  ASSERT_TRUE(made);
  HeapOf<SameDecoding> hooks = std::move(made.value());
  Persistent<Hook> hook = make<Hook>(hooks);
  hook->next = make<Hook>(hooks);
  hooks.collect(StackState::HoldsNone);
  EXPECT_EQ(hooks.use().live_objects, 2u);
  EXPECT_FALSE(tools.owns(hook.get()));
}

TEST(Groups, OfOneSlotThatDecodeOtherwiseAreAnError) {
  const HeapOf<SplitGroup> first = std::move(HeapOf<SplitGroup>::create().value());
  EXPECT_EQ(HeapOf<GroupOf<SeedDecoding<1>>>::create().error(), CageError::SlotTaken);
  EXPECT_EQ(HeapOf<GroupOf<LowDecoding<1>>>::create().error(), CageError::SlotTaken);
  EXPECT_EQ(HeapOf<GenerationalGroupOf<SplitDecoding<1>>>::create().error(), CageError::SlotTaken);
  EXPECT_STREQ(describe(CageError::SlotTaken), "heaps of another decoding or write barrier have the group's slot");
}

}  // namespace
}  // namespace tare::gc
