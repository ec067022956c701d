// Marking on another thread, beside a program that changes what is marked.
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/in_child.h"
#include "lib/support/sanitized.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/trace_std.h"

namespace tare::gc {
namespace {

using namespace testing;

HeapOptions concurrent() {
  HeapOptions options;
  options.marking = Marking::Concurrent;
  options.pause_goal_ns = 0;
  options.least_growth_bytes = std::size_t{256} << 10;
  return options;
}

class ConcurrentMarkingTest : public HeapTest {
 protected:
  ConcurrentMarkingTest() { remake(concurrent()); }

  // Polls by the clock, not by count: on a busy machine the marking thread may get no processor for seconds.
  void end_marking() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!heap_.collect_some(0, StackState::HoldsNone)) {
      std::this_thread::yield();
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    }
  }
};
using MarkingBesides = ConcurrentMarkingTest;

// The place and the thread in which objects are traced.
struct Watched : GarbageCollected<Watched> {
  void trace(Visitor& visitor) const {
    if (stays && visitor.leave_to_owner()) return;
    (std::this_thread::get_id() == owner ? by_owner : by_other)[stays ? 1 : 0].fetch_add(1);
    visitor.trace(next);
  }
  Member<Watched> next;
  bool stays = false;
  static inline std::thread::id owner;
  static inline std::atomic<int> by_owner[2], by_other[2];
};

TEST_F(MarkingBesides, IsDoneByAnotherThreadButForWhatIsLeftToThisOne) {
  constexpr int kObjects = 20'000;
  remake({.collections = Collections::ByHand, .marking = Marking::Concurrent, .pause_goal_ns = 0});
  Watched::owner = std::this_thread::get_id();
  Persistent<Watched> list;
  for (int i = 0; i < kObjects; ++i) {
    Watched* one = make_one<Watched>();
    one->stays = i % 100 == 7;
    one->next = list.get();
    list = one;
  }
  EXPECT_FALSE(heap_.collect_some(0, StackState::HoldsNone));
  end_marking();
  EXPECT_EQ(live(), static_cast<std::size_t>(kObjects));
  EXPECT_GT(Watched::by_other[0], 0);
  EXPECT_EQ(Watched::by_other[1], 0);
  EXPECT_GE(Watched::by_owner[1], kObjects / 100);  // and the verifier's
}

struct Branch : GarbageCollected<Branch> {
  void trace(Visitor& visitor) const {
    visitor.trace(left);
    visitor.trace(right);
    visitor.trace(wide);
    visitor.trace(maybe);
    visitor.trace(more);
  }
  Member<Branch> left, right;
  UncompressedMember<Branch> wide;
  std::optional<Member<Branch>> maybe;
  HeapVector<Member<Branch>> more;
};

Branch* grow(Heap& heap, int depth) {
  Branch* branch = make<Branch>(heap);
  if (depth == 0) return branch;
  branch->left = grow(heap, depth - 1);
  branch->right = grow(heap, depth - 1);
  branch->wide = grow(heap, depth - 2 < 0 ? 0 : depth - 2);
  branch->maybe.emplace(make<Branch>(heap));
  if (!branch->more.push_back(heap, make<Branch>(heap))) std::abort();
  return branch;
}

std::size_t count(const Branch* branch) {
  if (branch == nullptr) return 0;
  std::size_t sum = 1 + count(branch->left.get()) + count(branch->right.get()) + count(branch->wide.get());
  if (branch->maybe) sum += count(branch->maybe->get());
  for (const auto& one : branch->more) sum += count(one.get());
  return sum;
}

// Whole branches change places all the time, each of which is but in one place, or in a register, at any time.
template <class Random>
[[gnu::noinline]] void turn_around(Heap& heap, Branch* root, Random& random) {
  const auto some = [&] {
    Branch* at = root;
    for (int i = 0; i < 12 && at != nullptr; ++i) {
      Branch* next = random() % 3 == 0 ? at->wide.get() : random() % 2 == 0 ? at->left.get() : at->right.get();
      if (next == nullptr) break;
      at = next;
    }
    return at;
  };
  // Leaves alone, so that nothing becomes its own descendant.
  Branch* leaf = some();
  Branch* other = some();
  switch (random() % 5) {
    case 0:
      leaf->left.swap(leaf->right);
      break;
    case 1: {
      Branch* kept = leaf->wide.get();
      leaf->wide = leaf->left.get();
      leaf->left = kept;
      break;
    }
    case 2: {
      const std::optional<Member<Branch>> kept = leaf->maybe;
      leaf->maybe.reset();
      leaf->maybe = other->maybe;
      other->maybe = kept;
      break;
    }
    case 3:
      leaf->more.swap(other->more);
      break;
    default: {
      if (leaf->more.empty()) break;
      const Member<Branch> kept = leaf->more.back();
      leaf->more.pop_back();
      if (!other->more.push_back(heap, kept)) std::abort();
      break;
    }
  }
}

void turn_for(Heap& heap, unsigned seed, int steps) {
  const Persistent<Branch> root = grow(heap, 10);
  const std::size_t expected = count(root.get());
  std::mt19937 random(seed);
  for (int i = 0; i < steps || heap.use().collections < 2; ++i) {
    turn_around(heap, root.get(), random);
    if (i % 8 == 0) static_cast<void>(make<Branch>(heap));
    if (i % 64 == 0) heap.collect_some(0, StackState::MayHoldPointers);
  }
  EXPECT_EQ(count(root.get()), expected);
}

TEST_F(MarkingBesides, LosesNothingThatChangesItsPlace) {
  for (unsigned seed = 1; seed <= 3; ++seed) turn_for(heap_, seed, 40'000);
}

// Members behind an object, which are made when they're wanted: in an object that the other thread may be tracing.
struct Shelf : GarbageCollected<Shelf> {
  static constexpr std::size_t kPlaces = 64;
  void trace(Visitor& visitor) const {
    for (std::size_t i = 0; i < kPlaces; ++i) visitor.trace(places()[i]);
    visitor.trace(next);
  }
  Member<Knot>* places() const {
    return reinterpret_cast<Member<Knot>*>(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this + 1)));
  }
  Member<Shelf> next;
};

TEST_F(MarkingBesides, MayReadAPlaceWhereAMemberIsConstructed) {
  remake({.collections = Collections::ByHand, .marking = Marking::Concurrent, .pause_goal_ns = 0});
  constexpr int kShelves = 2'000;
  Persistent<Shelf> shelves;
  for (int i = 0; i < kShelves; ++i) {
    Shelf* shelf = make_one<Shelf>(AdditionalBytes(Shelf::kPlaces * sizeof(Member<Knot>)));
    shelf->next = shelves.get();
    shelves = shelf;
  }
  for (std::size_t round = 0; round < Shelf::kPlaces; round += 8) {
    while (!heap_.use().is_marking) heap_.collect_some(0, StackState::HoldsNone);
    for (Shelf* shelf = shelves.get(); shelf != nullptr; shelf = shelf->next.get()) {
      ::new (shelf->places() + round) Member<Knot>(make_one<Knot>(static_cast<int>(round)), kInSharedPlace);
    }
    end_marking();
  }
  EXPECT_EQ(live(), kShelves * (1 + Shelf::kPlaces / 8));
  for (Shelf* shelf = shelves.get(); shelf != nullptr; shelf = shelf->next.get()) {
    for (std::size_t i = 0; i < Shelf::kPlaces; i += 8) ASSERT_EQ(shelf->places()[i]->value, static_cast<int>(i));
  }
}

TEST_F(MarkingBesides, ServesHeapsOfSeveralThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      HeapOptions options = concurrent();
      options.verifies = true;
      Heap heap = std::move(Heap::create(options).value());
      turn_for(heap, 10 + t, 8'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(MarkingBesides, IsStoppedByACollectionAtOnceAndByTheHeapsEnd) {
  for (int i = 0; i < 20; ++i) {
    Persistent<Branch> root = grow(heap_, 8);
    const std::size_t expected = count(root.get());
    heap_.collect_some(0, StackState::HoldsNone);
    collect();
    EXPECT_EQ(count(root.get()), expected);
    heap_.collect_some(0, StackState::HoldsNone);
    remake(concurrent());
    EXPECT_EQ(root.get(), nullptr);
  }
}

TEST_F(MarkingBesides, GoesOnInAForkedChild) {
  if (kThreadSanitized) GTEST_SKIP() << "it doesn't follow forks of threads";
  for (int i = 0; i < 10; ++i) {
    const Persistent<Branch> root = grow(heap_, 9);
    const std::size_t expected = count(root.get());
    while (!heap_.use().is_marking) heap_.collect_some(0, StackState::HoldsNone);
    const auto end = [&] {
      end_marking();
      return count(root.get()) == expected && heap_.use().collections > 0 ? 0 : 1;
    };
    EXPECT_EQ(tare::testing::in_child(end), 0);
    EXPECT_EQ(end(), 0);
  }
}

}  // namespace
}  // namespace tare::gc
