// A compressed pointer does what a plain one does, in 4 bytes.
#include "tare/compressed_ptr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace tare {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

struct TestCage {
  static constexpr std::size_t kGranuleBytes = 8;
};
template <class T>
using Ptr = CompressedPtr<T, TestCage>;

struct Node {
  Ptr<Node> parent, first, next;
  std::uint32_t value;
};
struct Unknown;  // never defined

static_assert(sizeof(Ptr<Node>) == 4 && alignof(Ptr<Node>) == 4);
static_assert(sizeof(Node) == 16);
static_assert(sizeof(Ptr<Unknown>) == 4);
static_assert(std::is_trivially_copyable_v<Ptr<Node>> && std::is_standard_layout_v<Ptr<Node>>);
static_assert(std::is_trivially_destructible_v<Ptr<Node>>);
static_assert(std::atomic<Ptr<Node>>::is_always_lock_free);
static_assert(Ptr<Node>() == nullptr && !Ptr<Node>(nullptr) && Ptr<Node>().bits() == 0);
static_assert(Ptr<Node>(kSentinelPtr) == kSentinelPtr && Ptr<Node>(kSentinelPtr) != nullptr);
static_assert(Ptr<Node>(kSentinelPtr) && !Ptr<Node>(kSentinelPtr).is_object() && Ptr<Node>() != kSentinelPtr);
static_assert(Ptr<Node>() < Ptr<Node>(kSentinelPtr));
static_assert(std::is_convertible_v<Ptr<Node>, Ptr<const Node>> && std::is_convertible_v<Ptr<Node>, Ptr<void>>);
static_assert(!std::is_convertible_v<Ptr<const Node>, Ptr<Node>>);
static_assert(!std::is_convertible_v<Ptr<Node>, Ptr<int>> && !std::is_convertible_v<Ptr<void>, Ptr<Node>>);
static_assert(!std::is_convertible_v<Ptr<Node>, bool> && !std::is_convertible_v<Ptr<Node>, Node*>);
static_assert(kReachBytes<TestCage> == 32 * kGiB);

Cage& test_cage() {
  static Cage cage = [] {
    CageResult<Cage> made = Cage::reserve(cage_options<TestCage>());
    EXPECT_TRUE(made) << describe(made.error());
    EXPECT_EQ(CageBase<TestCage>::bind(made.value()), CageError::None);
    return std::move(made.value());
  }();
  return cage;
}

class CompressedPtrTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { test_cage(); }

  template <class T>
  T* place(std::size_t count = 1) {
    runs_.push_back(test_cage().allocate(count * sizeof(T)).value());
    return reinterpret_cast<T*>(runs_.back().data);
  }
  void TearDown() override {
    for (const PageRun& run : runs_) test_cage().free(run);
  }
  // Any address of the cage that an object may have, accessible or not.
  static Node* at(std::size_t offset) { return reinterpret_cast<Node*>(test_cage().base() + offset); }

 private:
  std::vector<PageRun> runs_;
};

TEST_F(CompressedPtrTest, NullAndSentinelComeOutAsSuch) {
  EXPECT_EQ(Ptr<Node>().get(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Ptr<Node>(kSentinelPtr).get()), TestCage::kGranuleBytes);
  Node* null = nullptr;
  EXPECT_EQ(Ptr<Node>(null).bits(), 0u);
  EXPECT_EQ(Ptr<Node>(null), null);
  Node* sentinel = Ptr<Node>(kSentinelPtr).get();
  EXPECT_EQ(Ptr<Node>(sentinel), kSentinelPtr);
}

TEST_F(CompressedPtrTest, EveryAddressInReachComesBack) {
  const std::size_t reach = test_cage().size_bytes();
  std::mt19937_64 random(1);
  std::vector<std::size_t> offsets{16, 4096, reach - 8, reach / 2, reach / 2 - 8, 4 * kGiB, 4 * kGiB - 8};
  for (int i = 0; i < 20'000; ++i) offsets.push_back(16 + random() % (reach - 16) / 8 * 8);
  for (const std::size_t offset : offsets) {
    if (offset >= reach) continue;
    const Ptr<Node> pointer = at(offset);
    ASSERT_EQ(pointer.get(), at(offset)) << offset;
    ASSERT_EQ(&*pointer, at(offset));
    ASSERT_TRUE(pointer == at(offset));
    ASSERT_TRUE(pointer.is_object());
    ASSERT_EQ(Ptr<Node>::from_bits(pointer.bits()), pointer);
  }
}

TEST_F(CompressedPtrTest, ComparesAsPlainPointersDo) {
  std::mt19937 random(2);
  std::vector<Node*> plain{nullptr};
  for (int i = 0; i < 60; ++i) plain.push_back(at(4096 + random() % 100 * 8));
  for (Node* a : plain) {
    for (Node* b : plain) {
      const Ptr<Node> x = a;
      const Ptr<Node> y = b;
      ASSERT_EQ(x == y, a == b);
      ASSERT_EQ(x == b, a == b);
      ASSERT_EQ(b == x, a == b);
      ASSERT_EQ(x < y, a < b);
      ASSERT_EQ(x >= y, a >= b);
      if (a == b) {
        ASSERT_EQ(std::hash<Ptr<Node>>()(x), std::hash<Ptr<Node>>()(y));
      }
    }
  }
}

TEST_F(CompressedPtrTest, ReachesObjects) {
  Node* nodes = place<Node>(3);
  nodes[0] = {nullptr, &nodes[1], nullptr, 10};
  nodes[1] = {&nodes[0], nullptr, &nodes[2], 11};
  nodes[2] = {&nodes[0], nullptr, nullptr, 12};
  const Ptr<Node> root = &nodes[0];
  EXPECT_EQ(root->value, 10u);
  EXPECT_EQ(root->first->next->value, 12u);
  EXPECT_EQ((*root->first->parent).value, 10u);
  EXPECT_FALSE(root->first->next->next);
  root->first->value = 99;
  EXPECT_EQ(nodes[1].value, 99u);
}

struct Left {
  std::uint64_t left = 1;
};
struct Right {
  std::uint64_t right = 2;
  virtual ~Right() = default;
};
struct Both : Left, Right {
  std::uint64_t own = 3;
};
struct Shared {
  std::uint64_t shared = 4;
};
struct A : virtual Shared {
  std::uint64_t a = 5;
};
struct B : virtual Shared {
  std::uint64_t b = 6;
};
struct Diamond : A, B {
  std::uint64_t own = 7;
};

TEST_F(CompressedPtrTest, ConvertsToBasesWhereverTheyLie) {
  Both* plain = new (place<Both>()) Both;
  const Ptr<Both> both = plain;
  const Ptr<Left> left = both;
  const Ptr<Right> right = both;
  EXPECT_EQ(left.get(), static_cast<Left*>(plain));
  EXPECT_EQ(right.get(), static_cast<Right*>(plain));
  EXPECT_EQ(left->left, 1u);
  EXPECT_EQ(right->right, 2u);
  EXPECT_NE(static_cast<void*>(left.get()), static_cast<void*>(right.get()));
  EXPECT_TRUE(both == left);
  EXPECT_TRUE(right == both);
  EXPECT_EQ(static_pointer_cast<Both>(right), both);
  EXPECT_EQ(static_pointer_cast<Both>(left), both);
  const Ptr<void> any = both;
  EXPECT_EQ(any.get(), plain);
  EXPECT_EQ(static_pointer_cast<Both>(any), both);
  const Ptr<const Right> constant = both;
  EXPECT_EQ(constant->right, 2u);
}

TEST_F(CompressedPtrTest, ConvertsToVirtualBases) {
  Diamond* plain = new (place<Diamond>()) Diamond;
  const Ptr<Diamond> diamond = plain;
  const Ptr<Shared> shared = diamond;
  const Ptr<B> b = diamond;
  const Ptr<Shared> through_b = b;
  EXPECT_EQ(shared.get(), static_cast<Shared*>(plain));
  EXPECT_EQ(shared->shared, 4u);
  EXPECT_EQ(b->b, 6u);
  EXPECT_EQ(shared, through_b);
}

TEST_F(CompressedPtrTest, NullAndSentinelSurviveConversions) {
  EXPECT_EQ(Ptr<Right>(Ptr<Both>()), nullptr);
  EXPECT_EQ(Ptr<Right>(Ptr<Both>(kSentinelPtr)), kSentinelPtr);
  EXPECT_EQ(Ptr<Shared>(Ptr<Diamond>()), nullptr);
  EXPECT_EQ(Ptr<Shared>(Ptr<Diamond>(kSentinelPtr)), kSentinelPtr);
  EXPECT_EQ(static_pointer_cast<Both>(Ptr<Right>()), nullptr);
  EXPECT_EQ(static_pointer_cast<Both>(Ptr<Right>(kSentinelPtr)), kSentinelPtr);
}

// Random changes of a set of pointers, against the standard's with plain ones.
TEST_F(CompressedPtrTest, SetsAgreeWithSetsOfPlainPointers) {
  std::mt19937 random(3);
  std::unordered_set<Ptr<Node>> compressed;
  std::unordered_set<Node*> plain;
  std::map<Ptr<Node>, int> ordered;
  std::map<Node*, int> plain_ordered;
  for (int step = 0; step < 20'000; ++step) {
    Node* node = at(4096 + random() % 2000 * 16);
    switch (random() % 3) {
      case 0:
        ASSERT_EQ(compressed.insert(node).second, plain.insert(node).second);
        break;
      case 1:
        ASSERT_EQ(compressed.erase(node), plain.erase(node));
        break;
      default:
        ASSERT_EQ(++ordered[node], ++plain_ordered[node]);
    }
    ASSERT_EQ(compressed.contains(node), plain.contains(node));
  }
  ASSERT_TRUE(std::equal(ordered.begin(), ordered.end(), plain_ordered.begin(), plain_ordered.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
}

TEST_F(CompressedPtrTest, HashesSpreadOverSmallTables) {
  // Objects 64 bytes apart, in a table of 2^12 slots by low bits: at random 63 % of the slots would be used.
  std::unordered_set<std::size_t> slots;
  for (std::size_t i = 0; i < 4096; ++i) slots.insert(std::hash<Ptr<Node>>()(at(4096 + i * 64)) % 4096);
  EXPECT_GT(slots.size(), 4096u / 2);
}

TEST_F(CompressedPtrTest, AtomicsPublishObjects) {
  Node* nodes = place<Node>(1000);
  std::atomic<Ptr<Node>> latest{nullptr};
  std::thread writer([&] {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      nodes[i].value = i;
      nodes[i].next = latest.load(std::memory_order_relaxed);
      latest.store(&nodes[i], std::memory_order_release);
    }
  });
  std::uint32_t seen = 0;
  while (seen < 999) {
    const Ptr<Node> head = latest.load(std::memory_order_acquire);
    if (!head) continue;
    ASSERT_GE(head->value, seen);
    seen = head->value;
    if (head->next) {
      ASSERT_EQ(head->next->value, seen - 1);
    }
  }
  writer.join();
}

struct Narrow {
  static constexpr std::size_t kGranuleBytes = 1;
};
struct Wide {
  static constexpr std::size_t kGranuleBytes = 64;
};
struct Odd {
  static constexpr std::size_t kGranuleBytes = 12;
};
static_assert(CageTag<Narrow> && CageTag<Wide> && !CageTag<Odd> && !CageTag<int>);
static_assert(kReachBytes<Narrow> == 4 * kGiB && kReachBytes<Wide> == 256 * kGiB);

template <class Tag>
void round_trip() {
  CageOptions options = cage_options<Tag>();
  options.size_bytes = 512 * kMiB;
  CageResult<Cage> cage = Cage::reserve(options);
  ASSERT_TRUE(cage);
  ASSERT_EQ(CageBase<Tag>::bind(cage.value()), CageError::None);
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    std::byte* at = cage.value().base() + 4096 + random() % (500 * kMiB) / Tag::kGranuleBytes * Tag::kGranuleBytes;
    ASSERT_EQ((CompressedPtr<std::byte, Tag>(at).get()), at);
  }
  CageBase<Tag>::unbind();
}

TEST(CompressedPtrTags, GranulesOfOtherSizes) {
  round_trip<Narrow>();
  round_trip<Wide>();
}

// 256 MiB: below where programs are linked to, above what the system keeps free of mappings.
struct Low {
  static constexpr std::size_t kGranuleBytes = 1;
  static constexpr std::uintptr_t kBase = 0;
};

TEST(CompressedPtrTags, AWindowKnownWhenCompiling) {
  CageResult<Cage> cage = Cage::reserve({.size_bytes = 64 * kMiB, .fixed_base = 256 * kMiB});
  if (!cage) GTEST_SKIP() << "the low addresses are taken";
  ASSERT_EQ(CageBase<Low>::bind(cage.value()), CageError::None);
  auto* number = reinterpret_cast<int*>(cage.value().allocate(4096).value().data);
  *number = 42;
  const CompressedPtr<int, Low> pointer = number;
  EXPECT_EQ(*pointer, 42);
  EXPECT_EQ(pointer.get(), number);
  EXPECT_EQ(pointer.bits(), reinterpret_cast<std::uintptr_t>(number)) << "the address itself";
  EXPECT_EQ((CompressedPtr<int, Low>().get()), nullptr);
  EXPECT_EQ(CageBase<Low>::bind(test_cage()), CageError::OutOfReach);
}

struct Bound {
  static constexpr std::size_t kGranuleBytes = 8;
};

TEST(CageBaseTest, BindsOnlyWhatPointersReach) {
  EXPECT_EQ(CageBase<Bound>::bind(Cage()), CageError::OutOfReach);
  CageResult<Cage> first = Cage::reserve(cage_options<Bound>());
  ASSERT_TRUE(first);
  CageOptions shifted = cage_options<Bound>();
  shifted.size_bytes = 2 * kGiB;
  shifted.alignment_phase_bytes = 31 * kGiB;  // half of it lies in the next window
  CageResult<Cage> across = Cage::reserve(shifted);
  ASSERT_TRUE(across);
  EXPECT_EQ(CageBase<Bound>::bind(across.value()), CageError::OutOfReach);
  EXPECT_EQ(CageBase<Bound>::bind(first.value()), CageError::None);
  EXPECT_EQ(CageBase<Bound>::bind(first.value()), CageError::None) << "again";
  CageResult<Cage> second = Cage::reserve(cage_options<Bound>());
  ASSERT_TRUE(second);
  EXPECT_EQ(CageBase<Bound>::bind(second.value()), CageError::OutOfReach) << "another window";
  CageBase<Bound>::unbind();
  EXPECT_EQ(CageBase<Bound>::bind(second.value()), CageError::None);
  CageBase<Bound>::unbind();
}

TEST(CageBaseTest, CagesMayShareAWindow) {
  CageOptions options = cage_options<Bound>();
  options.size_bytes = kGiB;
  CageResult<Cage> low = Cage::reserve(options);
  options.alignment_phase_bytes = 4 * kGiB;
  ASSERT_TRUE(low);
  CageResult<Cage> high = Cage::reserve(
      {.size_bytes = kGiB, .fixed_base = reinterpret_cast<std::uintptr_t>(low.value().base()) + 4 * kGiB});
  if (!high) GTEST_SKIP() << "the addresses are taken";
  EXPECT_EQ(CageBase<Bound>::bind(high.value()), CageError::None);
  EXPECT_EQ(CageBase<Bound>::bind(low.value()), CageError::None);
  CageBase<Bound>::unbind();
}

#ifndef NDEBUG
TEST(CompressedPtrDeath, AssertionsSeeWhatCantBeCompressed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  test_cage();
  static std::uint64_t outside = 0;
  EXPECT_DEATH(Ptr<std::uint64_t>{&outside}, "kReachBytes");
  EXPECT_DEATH(Ptr<char>{reinterpret_cast<char*>(test_cage().base() + 4097)}, "kGranuleBytes");
  EXPECT_DEATH((void)Ptr<Node>()->value, "is_object");
  EXPECT_DEATH((void)*Ptr<std::uint64_t>(kSentinelPtr), "is_object");
}
#endif

}  // namespace
}  // namespace tare
