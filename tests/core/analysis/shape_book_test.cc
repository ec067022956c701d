// Sums of shapes: weights of samples, counts at the peak, and counts beyond 32 bits; and the words of live blocks.
// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/shape_book.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/analysis/block_word.h"

namespace tare::core {
namespace {

trace::Dictionary two_shapes(double weight) {
  trace::Dictionary dictionary;
  for (const std::uint64_t bytes : {24, 40}) {
    trace::Shape shape{};
    shape.requested_bytes = shape.usable_bytes = bytes;
    shape.weight = weight;
    dictionary.shapes.push_back(shape);
  }
  return dictionary;
}

TEST(ShapeBook, ABlockStandsForItselfUnlessSampled) {
  trace::ProcessInfo info;
  ShapeBook exact(info);
  exact.extend(two_shapes(2.5), 2);
  EXPECT_EQ(exact.weight(1), 1.0);
  EXPECT_EQ(exact.sums[1].requested_q, std::uint64_t{40} << kFractionBits);

  info.sample_bytes = 4096;
  ShapeBook sampled(info);
  sampled.extend(two_shapes(2.5), 2);
  EXPECT_EQ(sampled.weight(1), 2.5);
  EXPECT_EQ(sampled.sums[1].requested_q, std::uint64_t{100} << kFractionBits);
}

TEST(ShapeBook, ADamagedWeightCountsAsOne) {
  trace::ProcessInfo info;
  info.sample_bytes = 4096;
  for (const double weight : {0.0, -3.0, std::numeric_limits<double>::quiet_NaN(), 1e300}) {
    ShapeBook book(info);
    book.extend(two_shapes(weight), 2);
    EXPECT_EQ(book.weight(0), 1.0) << weight;
  }
}

TEST(ShapeBook, TheFirstChangeAfterAPeakSavesItsCount) {
  const trace::ProcessInfo info;
  ShapeBook book(info);
  book.extend(two_shapes(1), 2);
  book.sums[0].live = 5;
  book.save_if_older(0, 1);
  book.sums[0].live = 7;
  book.save_if_older(0, 1);
  EXPECT_EQ(book.live_at_peak[0], 5u);
  book.save_if_older(0, 2);
  EXPECT_EQ(book.live_at_peak[0], 7u);
}

TEST(ShapeBook, CountsGoOnBeyond32Bits) {
  const trace::ProcessInfo info;
  ShapeBook book(info);
  book.extend(two_shapes(1), 2);
  book.sums[1].ended[2] = std::numeric_limits<std::uint32_t>::max();
  book.count_ended(1, 2);
  book.count_ended(1, 2);
  EXPECT_EQ(book.ended(1, 2), (std::uint64_t{1} << 32) + 1);
  EXPECT_EQ(book.ended(0, 2), 0u);
}

TEST(BlockWord, KeepsBirthKindAndIndex) {
  for (const std::uint32_t kind : {BlockWord::kPlain, BlockWord::kInChain, BlockWord::kInherited}) {
    const BlockWord word(BlockWord::of(0xfedcba98, kind, BlockWord::kIndexMask));
    EXPECT_EQ(word.birth(), 0xfedcba98);
    EXPECT_EQ(word.kind(), kind);
    EXPECT_EQ(word.index(), BlockWord::kIndexMask);
    EXPECT_EQ(word.is_plain(), kind == BlockWord::kPlain);
    EXPECT_EQ(word.is_inherited(), kind == BlockWord::kInherited);
  }
}

}  // namespace
}  // namespace tare::core
