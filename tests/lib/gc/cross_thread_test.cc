#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/child_of_threads.h"
#include "lib/support/sanitized.h"
#include "tare/gc/cross_thread_persistent.h"

namespace tare::gc {
namespace {

using namespace testing;

using CrossThread = HeapTest;

TEST_F(CrossThread, RootsOfAnotherThreadKeep) {
  CrossThreadPersistent<Knot> root = make_one<Knot>(5);
  std::atomic<int> stage{0};
  std::thread other([&, copy = CrossThreadPersistent<Knot>(root)]() mutable {
    CrossThreadPersistent<Knot> moved = std::move(copy);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    moved.clear();
    stage = 3;
  });
  while (stage != 1) std::this_thread::yield();
  root.clear();
  collect();
  EXPECT_EQ(live(), 1u);
  stage = 2;
  while (stage != 3) std::this_thread::yield();
  collect();
  EXPECT_EQ(live(), 0u);
  other.join();
}

TEST_F(CrossThread, WeakOnesTellWhetherTheObjectLives) {
  Persistent<Knot> knot = make_one<Knot>(6);
  const WeakCrossThreadPersistent<Knot> weak(knot.get());
  std::thread([&] { EXPECT_EQ(weak.lock()->value, 6); }).join();
  knot = nullptr;
  collect();
  std::thread([&] { EXPECT_FALSE(weak.lock()); }).join();
}

struct Heard : GarbageCollectedMixin {
  int heard = 3;
};
struct Bell final : Knot, Heard {};

TEST_F(CrossThread, ConvertToBasesAndAreCompared) {
  CrossThreadPersistent<Bell> bell = make_one<Bell>();
  WeakCrossThreadPersistent<Bell> weak(bell);
  std::thread([&] {
    const CrossThreadPersistent<Knot> knot = bell;
    const CrossThreadPersistent<Heard> heard = bell;  // lies further in
    const WeakCrossThreadPersistent<Heard> weak_heard = weak;
    const CrossThreadPersistent<Heard> again(weak);
    EXPECT_EQ(knot->value, 0);
    EXPECT_EQ(heard->heard, 3);
    EXPECT_EQ(heard, weak_heard);
    EXPECT_EQ(again, heard);
    EXPECT_EQ(bell, weak);
    EXPECT_TRUE(knot == bell.get());
    EXPECT_FALSE(knot == CrossThreadPersistent<Knot>());
  }).join();
  const WeakCrossThreadPersistent<Heard> weak_heard = weak;
  bell.clear();
  collect();
  EXPECT_EQ(weak, bell);
  EXPECT_EQ(weak_heard, nullptr);
  const CrossThreadPersistent<Heard> none(weak);
  EXPECT_FALSE(none);
}

TEST_F(CrossThread, BecomeNullWithTheHeap) {
  const CrossThreadPersistent<Knot> strong = make_one<Knot>(1);
  const WeakCrossThreadPersistent<Knot> weak(strong);
  heap_ = Heap();
  EXPECT_FALSE(strong);
  EXPECT_FALSE(weak);
}

TEST_F(CrossThread, MayBeMadeWhileCollectionsRun) {
  constexpr int kThreads = 3;
  constexpr int kObjects = 20;
  std::vector<WeakCrossThreadPersistent<Knot>> weak;
  std::vector<CrossThreadPersistent<Knot>> strong;
  for (int i = 0; i < kObjects; ++i) {
    strong.emplace_back(make_one<Knot>(i));
    weak.emplace_back(strong.back());
  }
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<CrossThreadPersistent<Knot>> mine(kObjects);
      for (int i = 0; !stop; i = (i + 1) % kObjects) {
        mine[static_cast<std::size_t>(i)] = weak[static_cast<std::size_t>(i)].lock();
        const auto& kept = mine[static_cast<std::size_t>((i * 7) % kObjects)];
        if (const Knot* knot = kept.get(); knot != nullptr && knot->value != (i * 7) % kObjects) ++wrong;
        mine[static_cast<std::size_t>((i * 3) % kObjects)].clear();
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 100; ++k) static_cast<void>(make_one<Knot>(-1));
    if (i == 100) strong.clear();
    collect();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CollectedHeapsInChildren, WorkWhateverOtherThreadsWereDoing) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers don't follow forks of threads: a lock of their malloc stays locked";
  const auto busy = [](int) {
    Heap heap = std::move(Heap::create().value());
    CrossThreadPersistent<Knot> root = make<Knot>(heap, 1);
    for (int i = 0; i < 100; ++i) root = make<Knot>(heap, i);
  };
  const auto body = [] {
    Heap heap = std::move(Heap::create().value());
    const CrossThreadPersistent<Knot> root = make<Knot>(heap, 1);
    for (int i = 0; i < 100'000; ++i) static_cast<void>(make<Knot>(heap, i));
    heap.collect(StackState::HoldsNone);
    return heap.use().live_objects == 1 ? 0 : 1;
  };
  EXPECT_EQ(tare::testing::in_children_of_threads(20, 2, busy, body), 0);
}

struct Forwarding : GarbageCollected<Forwarding> {
  void trace(Visitor& visitor) const {
    visitor.trace(watched);
    visitor.add_weak_callback(on_death, this);
  }
  static void on_death(const Liveness& liveness, const void* object) {
    auto* self = static_cast<Forwarding*>(const_cast<void*>(object));
    if (liveness.is_alive(self->watched)) return;
    self->saw_dead_weak = static_cast<bool>(self->weak);
    self->target.clear();
    self->other = self->kept;
  }
  WeakMember<Knot> watched;
  CrossThreadPersistent<Knot> target, kept, other;
  WeakCrossThreadPersistent<Knot> weak;
  bool saw_dead_weak = false;
};

TEST_F(CrossThread, RootsMayBeChangedByWeakCallBacks) {
  alarm(60);  // no test of time: it once waited for itself for ever
  Persistent<Forwarding> forwarding = make_one<Forwarding>();
  forwarding->watched = make_one<Knot>(1);
  forwarding->target = make_one<Knot>(2);
  forwarding->kept = make_one<Knot>(3);
  forwarding->weak = WeakCrossThreadPersistent<Knot>(forwarding->watched.get());
  collect();
  alarm(0);
  EXPECT_FALSE(forwarding->target);
  EXPECT_EQ(forwarding->other->value, 3);
  EXPECT_FALSE(forwarding->saw_dead_weak);  // nobody makes it strong any more
  collect();
  EXPECT_EQ(live(), 2u);
}

}  // namespace
}  // namespace tare::gc
