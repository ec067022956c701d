#include "tare/gc/decoding.h"

#include <gtest/gtest.h>

#include <memory>
#include <unordered_set>

#include "groups.h"
#include "lib/support/sanitized.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/gc/visitor.h"

namespace tare::gc {
namespace {

using namespace testing;

template <class Group>
struct Node : GarbageCollected<Node<Group>, Group> {
  explicit Node(int v) : value(v) {}
  void trace(Visitor& visitor) const { visitor.trace(next); }
  Member<Node, Group> next;
  int value;
};

// The heap is made in a function of its own: see tare/internal/gc/cage_bases.h.
template <class Group>
class EveryDecoding : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Group::Decoding::kIsLow && kSanitized) GTEST_SKIP() << "sanitizers have their shadow there";
    CageResult<HeapOf<Group>> made = HeapOf<Group>::create();
    ASSERT_TRUE(made) << describe(made.error());
    heap_ = std::move(made.value());
  }
  HeapOf<Group> heap_;
};

using Groups = ::testing::Types<SplitGroup, SeedGroup, Seed16Group, LowGroup, ThreadBaseGroup, ShiftlessGroup>;
TYPED_TEST_SUITE(EveryDecoding, Groups);

TYPED_TEST(EveryDecoding, FindsObjectsNullAndTheSentinel) {
  using Decoding = typename TypeParam::Decoding;
  EXPECT_EQ(Decoding::encode(nullptr), 0u);
  EXPECT_EQ(Decoding::decode(0), nullptr);
  // The sentinel's address is known when compiling: what 1 decodes to, whatever the base.
  EXPECT_EQ(Decoding::encode(Decoding::decode(1)), 1u);
  EXPECT_LE(reinterpret_cast<std::uintptr_t>(Decoding::decode(1)), 8u);
  for (int i = 0; i < 10'000; ++i) {
    auto* node = make<Node<TypeParam>>(this->heap_, i);
    ASSERT_NE(node, nullptr);
    const std::uint32_t bits = Decoding::encode(node);
    EXPECT_GT(bits, 1u);
    ASSERT_EQ(Decoding::decode(bits), node);
    ASSERT_EQ(Decoding::decode_object(bits), node);
  }
}

TYPED_TEST(EveryDecoding, CarriesAListThroughCollections) {
  using TestNode = Node<TypeParam>;
  Persistent<TestNode> first = make<TestNode>(this->heap_, 0);
  TestNode* last = first.get();
  for (int i = 1; i < 20'000; ++i) {
    auto* node = make<TestNode>(this->heap_, i);
    static_cast<void>(make<TestNode>(this->heap_, -1));  // dies
    last->next = node;
    last = node;
  }
  last = nullptr;
  this->heap_.collect(StackState::HoldsNone);
  EXPECT_EQ(this->heap_.use().live_objects, 20'000u);
  int expected = 0;
  for (TestNode* node = first.get(); node != nullptr; node = node->next.get()) ASSERT_EQ(node->value, expected++);
  EXPECT_EQ(expected, 20'000);
}

TYPED_TEST(EveryDecoding, IsFoundOnTheStack) {
  using TestNode = Node<TypeParam>;
  volatile std::uint32_t bits = 0;  // 4 bytes on the stack, and nothing else
  [&]() __attribute__((noinline)) { bits = TypeParam::Decoding::encode(make<TestNode>(this->heap_, 77)); }();
  for (int i = 0; i < 1000; ++i) static_cast<void>(make<TestNode>(this->heap_, i));
  this->heap_.collect(StackState::MayHoldPointers);
  EXPECT_EQ(static_cast<TestNode*>(TypeParam::Decoding::decode(bits))->value, 77);
  EXPECT_LT(this->heap_.use().live_objects, 50u);
}

TEST(Decoding, HalvesReachWhereAddressesAreFew) {
  EXPECT_EQ(SeedGroup::Decoding::kReachBytes, std::size_t{4} << 30);
  EXPECT_EQ(Seed16Group::Decoding::kReachBytes, std::size_t{16} << 30);
  EXPECT_EQ(SplitGroup::Decoding::kReachBytes, std::size_t{32} << 30);
  EXPECT_EQ(ShiftlessGroup::Decoding::kReachBytes, std::size_t{2} << 30);
}

TEST(Decoding, OfTheSeedSetsTheBitAboveTheOffsets) {
  const std::uintptr_t window = 0x7fff'0000'0000'0000 / 2;  // any
  const DecodingShape shape = SeedGroup::Decoding::shape((window & ~0x1'ffff'ffffull) | 0x1'0000'0000);
  EXPECT_EQ(shape.origin & 0x1'ffff'ffff, 0x1'0000'0000u);
  EXPECT_EQ(SeedGroup::Decoding::base(shape) & 0xffff'ffff, 0xffff'ffffu);
  const CageOptions options = SeedGroup::Decoding::cage_options(std::size_t{64} << 30);
  EXPECT_EQ(options.size_bytes, std::size_t{4} << 30);
  EXPECT_EQ(options.alignment_phase_bytes, std::size_t{4} << 30);
}

}  // namespace
}  // namespace tare::gc
