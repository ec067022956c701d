// Counted pointers: each reference is counted once, and the last one ends the object.
#include "tare/ref_ptr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <new>
#include <random>
#include <thread>
#include <unordered_set>
#include <vector>

namespace tare {
namespace {

int live = 0;

class Thing : public RefCounted<Thing> {
 public:
  explicit Thing(int value = 0) : value_(value) { ++live; }
  Thing(const Thing& other) : RefCounted(other), value_(other.value_) { ++live; }
  Thing& operator=(const Thing&) = default;
  virtual ~Thing() { --live; }
  int value() const { return value_; }

 private:
  int value_;
};
class Special : public Thing {
 public:
  using Thing::Thing;
};

struct Small : RefCounted<Small> {
  std::uint32_t value = 0;
};

struct RefCage {
  static constexpr std::size_t kGranuleBytes = 8;
};

static_assert(sizeof(RefPtr<Thing>) == 8 && sizeof(CompressedRefPtr<Thing, RefCage>) == 4);
static_assert(sizeof(Small) == 8 && sizeof(RefCounted<Small>) == 4 && sizeof(ThreadSafeRefCounted<Small>) == 4);
static_assert(std::is_nothrow_move_constructible_v<RefPtr<Thing>> &&
              std::is_nothrow_copy_constructible_v<RefPtr<Thing>>);
static_assert(std::is_convertible_v<RefPtr<Special>, RefPtr<Thing>> &&
              !std::is_convertible_v<RefPtr<Thing>, RefPtr<Special>>);
static_assert(std::is_convertible_v<RefPtr<Thing>, RefPtr<const Thing>>);
// Else `RefPtr<Thing> thing = new Thing` compiles and leaks.
static_assert(!std::is_constructible_v<RefPtr<Thing>, Thing*> && !std::is_assignable_v<RefPtr<Thing>&, Thing*> &&
              !std::is_constructible_v<CompressedRefPtr<Thing, RefCage>, Thing*>);
static_assert(!std::is_convertible_v<RefPtr<Thing>, bool> && !std::is_convertible_v<RefPtr<Thing>, Thing*>);

TEST(RefPtr, CountsEachReferenceOnce) {
  {
    RefPtr<Thing> first = make_ref<Thing>(7);
    EXPECT_EQ(live, 1);
    EXPECT_EQ(first->references(), 1u);
    EXPECT_TRUE(first->has_one_reference());
    RefPtr<Thing> second = first;
    EXPECT_EQ(first->references(), 2u);
    RefPtr<Thing> third = std::move(second);
    EXPECT_EQ(first->references(), 2u);
    EXPECT_EQ(second, nullptr);  // NOLINT(bugprone-use-after-move)
    third = *&third;             // itself
    EXPECT_EQ(first->references(), 2u);
    third = nullptr;
    EXPECT_EQ(first->references(), 1u);
    third.reset();
    Thing* raw = first.get();
    third = share_ref(raw);
    EXPECT_EQ(raw->references(), 2u);
    EXPECT_EQ((*third).value(), 7);
    EXPECT_TRUE(first == third && first == raw && raw == first && !(first == nullptr));
  }
  EXPECT_EQ(live, 0);
}

TEST(RefPtr, LeavesAndAdoptsReferences) {
  RefPtr<Thing> thing = make_ref<Thing>();
  Thing* raw = thing.leak_ref();
  EXPECT_FALSE(thing);
  EXPECT_EQ(raw->references(), 1u);
  thing = adopt_ref(raw);
  EXPECT_EQ(raw->references(), 1u);
  raw->add_ref();
  EXPECT_EQ(raw->references(), 2u);
  raw->release_ref();
  thing.reset();
  EXPECT_EQ(live, 0);
}

TEST(RefPtr, ConvertsAndCompares) {
  RefPtr<Special> special = make_ref<Special>(3);
  RefPtr<Thing> thing = special;
  RefPtr<const Thing> constant = thing;
  EXPECT_EQ(special->references(), 3u);
  EXPECT_EQ(constant->value(), 3);
  EXPECT_TRUE(thing == special);
  thing = std::move(special);
  EXPECT_EQ(thing->references(), 2u);
  const std::unordered_set<RefPtr<Thing>> set{thing, thing, make_ref<Thing>()};
  EXPECT_EQ(set.size(), 2u);
  std::map<RefPtr<Thing>, int> ordered{{thing, 1}, {nullptr, 0}};
  EXPECT_EQ(ordered.begin()->second, 0);
}

struct ListNode : RefCounted<ListNode> {
  explicit ListNode(RefPtr<ListNode> rest) : next(std::move(rest)) {}
  RefPtr<ListNode> next;
};

TEST(RefPtr, AssigningFromOnesOwnMemberIsSafe) {
  RefPtr<ListNode> head = make_ref<ListNode>(make_ref<ListNode>(make_ref<ListNode>(nullptr)));
  ListNode* last = head->next->next.get();
  head = head->next;  // ends the object whose member is read
  head = std::move(head->next);
  EXPECT_EQ(head, last);
  EXPECT_EQ(head->references(), 1u);
}

TEST(RefPtr, CopiesOfObjectsAreNobodysYet) {
  RefPtr<Thing> one = make_ref<Thing>(5);
  RefPtr<Thing> more = one;
  Thing copy(*one);
  EXPECT_EQ(copy.references(), 1u);
  EXPECT_EQ(one->references(), 2u);
  copy = *one;
  EXPECT_EQ(copy.references(), 1u);
}

// Random copies, moves, swaps and resets, against counts kept beside.
TEST(RefPtr, RandomUseMatchesAModel) {
  std::mt19937 random(1);
  std::vector<RefPtr<Thing>> holders(40);
  for (int step = 0; step < 20'000; ++step) {
    RefPtr<Thing>& a = holders[random() % holders.size()];
    RefPtr<Thing>& b = holders[random() % holders.size()];
    switch (random() % 7) {
      case 0:
        a = make_ref<Thing>(step);
        break;
      case 1:
        a = b;
        break;
      case 2:
        if (&a != &b) a = std::move(b);
        break;
      case 3:
        a.swap(b);
        break;
      case 4:
        a.reset();
        break;
      case 5:
        if (a) a = adopt_ref(a.leak_ref());
        break;
      default:
        a = share_ref(b.get());
    }
    std::map<Thing*, std::uint32_t> counts;
    for (const RefPtr<Thing>& holder : holders) {
      if (holder) ++counts[holder.get()];
    }
    ASSERT_EQ(live, static_cast<int>(counts.size()));
    for (const auto& [thing, count] : counts) ASSERT_EQ(thing->references(), count);
  }
  holders.clear();
  EXPECT_EQ(live, 0);
}

class Static : public RefCounted<Static> {
 public:
  constexpr explicit Static(ImmortalTag tag) : RefCounted(tag) {}
  static void destroy(Static*) { ADD_FAILURE() << "immortal"; }
};
constinit Static immortal(kImmortal);

TEST(RefPtr, ImmortalObjectsNeedNoHeapAndNeverEnd) {
  {
    RefPtr<Static> a = share_ref(&immortal);
    RefPtr<Static> b = a;
    EXPECT_GE(immortal.references(), std::uint32_t{1} << 31);
  }
  for (int i = 0; i < 10; ++i) immortal.release_ref();
  EXPECT_GE(immortal.references(), std::uint32_t{1} << 31);
}

template <class Count>
void overflow() {
  Count count((std::uint32_t{1} << 31) - 2);
  count.add();
  EXPECT_EQ(count.value(), (std::uint32_t{1} << 31) - 1);
  count.add();
  EXPECT_GT(count.value(), std::uint32_t{1} << 31) << "stays up for ever";
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(count.drop());
  EXPECT_GT(count.value(), std::uint32_t{1} << 31);
}

TEST(RefPtr, CountsThatOverflowBecomeImmortal) {
  overflow<ref_counted_details::PlainCount>();
  overflow<ref_counted_details::AtomicCount>();
}

std::atomic<int> destroyed = 0;

struct Caged : ThreadSafeRefCounted<Caged> {
  static void destroy(Caged* object) {
    ++destroyed;
    object->~Caged();
  }
  std::uint32_t value = 0;
};
template <class T>
using Held = CompressedRefPtr<T, RefCage>;
static_assert(std::is_convertible_v<RefPtr<Caged>, Held<Caged>> && std::is_convertible_v<Held<Caged>, RefPtr<Caged>>);

class CompressedRefPtrTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CageResult<Cage> made = Cage::reserve(cage_options<RefCage>());
    ASSERT_TRUE(made);
    cage_ = std::move(made.value());
    ASSERT_EQ(CageBase<RefCage>::bind(cage_), CageError::None);
    memory_ = cage_.allocate(4096).value();
    destroyed = 0;
  }
  void TearDown() override { CageBase<RefCage>::unbind(); }
  Caged* place(std::size_t index) { return new (memory_.data + index * sizeof(Caged)) Caged; }

 private:
  Cage cage_;
  PageRun memory_;
};

TEST_F(CompressedRefPtrTest, CountsInFourBytes) {
  {
    const Held<Caged> held(place(0), kAdopt);
    held->value = 42;
    Held<Caged> copy = held;
    RefPtr<Caged> plain = copy;
    EXPECT_EQ(held->references(), 3u);
    EXPECT_EQ(plain->value, 42u);
    Held<const Caged> constant = plain;
    EXPECT_EQ(constant->value, 42u);
    copy = std::move(plain);
    EXPECT_EQ(held->references(), 3u);
    EXPECT_TRUE(copy == held && held == copy.get());
    copy = nullptr;
    EXPECT_FALSE(copy);
    EXPECT_EQ(copy.get(), nullptr);
  }
  EXPECT_EQ(destroyed, 1) << "by the class's own destroy()";
}

TEST_F(CompressedRefPtrTest, ThreadsShareObjects) {
  constexpr int kThreads = 4;
  constexpr std::size_t kObjects = 8;
  std::array<Held<Caged>, kObjects> shared;
  for (std::size_t i = 0; i < kObjects; ++i) shared[i] = Held<Caged>(place(i), kAdopt);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([mine = shared, id]() mutable {
      std::mt19937 random(static_cast<unsigned>(id));
      for (int step = 0; step < 5000; ++step) {
        mine[random() % kObjects] = mine[random() % kObjects];
        const RefPtr<Caged> plain = mine[random() % kObjects];
      }
    });
  }
  shared.fill(nullptr);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(destroyed, static_cast<int>(kObjects));
}

#ifndef NDEBUG
TEST(RefPtrDeath, OneTooManyIsSeen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Thing on_stack;
        on_stack.add_ref();
      },
      "value");
}
#endif

}  // namespace
}  // namespace tare
