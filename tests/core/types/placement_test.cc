// The compiler's rules, by examples that are worked out by hand.
#include "core/types/placement.h"

#include <gtest/gtest.h>

#include "core/types/field_order.h"

namespace tare::core {
namespace {

Part plain(std::uint64_t bytes, std::uint32_t align) { return {bytes * 8, align, 0, Part::Place::Free}; }
Part bits(std::uint64_t count, std::uint64_t unit_bytes) {
  return {count, static_cast<std::uint32_t>(unit_bytes), unit_bytes * 8, Part::Place::Free};
}

Placement placed(const std::vector<Part>& parts, const Surroundings& around = {}) {
  return place(parts, order_as_is(parts.size()), around);
}

TEST(Placement, AlignsEachFieldAndTheWhole) {
  const Placement got = placed({plain(1, 1), plain(8, 8), plain(1, 1), plain(4, 4), plain(1, 1)});
  EXPECT_EQ(got.offsets_bits, (std::vector<std::uint64_t>{0, 64, 128, 160, 192}));
  EXPECT_EQ(got.data_bytes, 25u);
  EXPECT_EQ(got.size_bytes, 32u);
  EXPECT_EQ(got.align_bytes, 8u);
}

TEST(Placement, BitFieldsShareWordsUntilOneWouldNeedTwo) {
  // unsigned a : 20, b : 12, c : 1; char d; unsigned long e : 40
  const Placement got = placed({bits(20, 4), bits(12, 4), bits(1, 4), plain(1, 1), bits(40, 8)});
  EXPECT_EQ(got.offsets_bits, (std::vector<std::uint64_t>{0, 20, 32, 40, 64}));
  EXPECT_EQ(got.size_bytes, 16u);
}

TEST(Placement, VirtualBasesFollowEverythingElse) {
  Surroundings around;
  around.virtual_bases = {{9, 8}};
  const Placement got = placed({plain(8, 8), plain(1, 1)}, around);
  EXPECT_EQ(got.data_bytes, 9u);
  EXPECT_EQ(got.size_bytes, 32u);  // 9, up to 16, 25, up to 32
}

TEST(Placement, HostileSizesDoNotOverflow) {
  const Part endless = plain(std::uint64_t{1} << 60, 65536);
  const Placement got = placed({endless, endless, endless, bits(~std::uint64_t{0}, 8)});
  EXPECT_LE(got.size_bytes, std::uint64_t{1} << 58);
}

TEST(FieldOrder, MovesOneFieldWhereThatIsEnough) {
  const std::vector<Part> parts = {plain(1, 1), plain(8, 8), plain(8, 8), plain(8, 8), plain(1, 1)};
  const ProposedOrder got = propose_order(parts, {});
  EXPECT_EQ(got.size_bytes, 32u);
  EXPECT_EQ(got.order, (std::vector<std::uint32_t>{1, 2, 3, 0, 4}));
}

TEST(FieldOrder, ProposesNothingWhereNothingIsWon) {
  EXPECT_TRUE(propose_order(std::vector<Part>{plain(8, 8), plain(1, 1)}, {}).order.empty());
  EXPECT_TRUE(propose_order(std::vector<Part>{}, {}).order.empty());
}

TEST(FieldOrder, UsesTheRestOfABase) {
  // A base of 5 bytes; long, char, short: with char and short beside the base it's 16 instead of 24.
  std::vector<Part> parts = {plain(5, 4), plain(8, 8), plain(1, 1), plain(2, 2)};
  parts[0].place = Part::Place::First;
  const ProposedOrder got = propose_order(parts, {});
  EXPECT_EQ(got.size_bytes, 16u);
  EXPECT_EQ(got.order.front(), 0u);
}

TEST(FieldOrder, KeepsBitFieldsTogetherAndTheLastLast) {
  std::vector<Part> parts = {plain(1, 1), bits(20, 4), bits(4, 4), plain(8, 8), plain(1, 1), plain(0, 4)};
  parts[5].place = Part::Place::Last;
  const ProposedOrder got = propose_order(parts, {});
  ASSERT_EQ(got.order.size(), 6u);
  EXPECT_EQ(got.size_bytes, 16u);
  EXPECT_EQ(got.order.back(), 5u);
  const auto first = std::find(got.order.begin(), got.order.end(), 1u);
  EXPECT_EQ(*(first + 1), 2u);
}

TEST(FieldOrder, ManyFieldsAreSorted) {
  std::vector<Part> parts;
  for (int i = 0; i < 100; ++i) {
    parts.push_back(plain(1, 1));
    parts.push_back(plain(8, 8));
  }
  EXPECT_EQ(propose_order(parts, {}).size_bytes, 904u);
}

}  // namespace
}  // namespace tare::core
