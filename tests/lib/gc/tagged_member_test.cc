#include "tare/gc/tagged_member.h"

#include "groups.h"
#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

struct SmallCage {
  using Decoding = SplitDecoding<13>;
  static constexpr std::size_t kCageBytes = std::size_t{4} << 30;
};
struct SeedCage {
  using Decoding = SeedDecoding<14>;
  static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
};

static_assert(SpareBits<DefaultGroup>::kLow == 0 && SpareBits<DefaultGroup>::kHigh == 1);  // 16 of 32 GiB
static_assert(SpareBits<SmallCage>::kHigh == 3);
static_assert(SpareBits<SeedCage>::kLow == 2 && SpareBits<SeedCage>::kHigh == 0);

template <class Group, int kBits>
struct Tagged : GarbageCollected<Tagged<Group, kBits>, Group> {
  static constexpr int kTagBits = kBits;
  using Link = TaggedMember<Tagged, kBits, Group>;
  void trace(Visitor& visitor) const { visitor.trace(link); }
  Link link;
};
static_assert(sizeof(Tagged<DefaultGroup, 1>::Link) == 4);

template <class Node>
class TaggedMembers : public ::testing::Test {};
using Nodes = ::testing::Types<Tagged<DefaultGroup, 1>, Tagged<SmallCage, 3>, Tagged<SeedCage, 2>>;
TYPED_TEST_SUITE(TaggedMembers, Nodes);

TYPED_TEST(TaggedMembers, KeepTheirObjectsWhateverTheTag) {
  using Node = TypeParam;
  using Group = typename Node::GcGroup;
  HeapOptions options;
  options.verifies = true;
  auto heap = std::move(HeapOf<Group>::create(options).value());
  Persistent<Node> first = make<Node>(heap);
  EXPECT_FALSE(first->link);
  EXPECT_EQ(first->link.get(), nullptr);
  for (std::uint32_t tag = 0; tag <= Node::Link::kMostTag; ++tag) {
    Node* second = make<Node>(heap);
    second->link.set(first.get(), Node::Link::kMostTag - tag);
    first->link.set(second, tag);
    second = nullptr;
    heap.collect(StackState::HoldsNone);
    EXPECT_EQ(heap.use().live_objects, 2u);
    EXPECT_TRUE(first->link);
    EXPECT_EQ(first->link.tag(), tag);
    EXPECT_EQ(first->link->link.get(), first.get());
    EXPECT_EQ(first->link->link.tag(), Node::Link::kMostTag - tag);
  }
  const typename Node::Link copy = first->link;
  EXPECT_EQ(copy, first->link);
  first->link.set_tag(0);
  EXPECT_EQ(copy == first->link, Node::Link::kMostTag == 0);
  EXPECT_EQ(copy.get(), first->link.get());
  first->link.set(nullptr, 1);  // null has a tag, too
  EXPECT_FALSE(first->link);
  EXPECT_EQ(first->link.tag(), 1u);
  heap.collect(StackState::HoldsNone);
  EXPECT_EQ(heap.use().live_objects, 1u);
}

}  // namespace
}  // namespace tare::gc
