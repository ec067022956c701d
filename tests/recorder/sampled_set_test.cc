// The set of sampled blocks: it holds what was put in, with its odds, and rules nearly all other blocks out.
#include "recorder/events/sampled_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tare::recorder {
namespace {

TEST(SampledSet, KeepsTheOddsOfEachBlock) {
  auto set = std::make_unique<SampledSet>();
  ASSERT_TRUE(set->prepare(SampledSet::kFewestBuckets));
  constexpr std::uint64_t kTagged = std::uint64_t{0x5a} << 56 | 0x7000;  // aarch64 ignores the upper byte
  ASSERT_TRUE(set->insert(0x1000, 0));
  ASSERT_TRUE(set->insert(0x2000, 23));
  ASSERT_TRUE(set->insert(kTagged, 7));
  EXPECT_TRUE(set->holds(0x2000));
  EXPECT_TRUE(set->holds(kTagged));
  EXPECT_EQ(set->take_out(0x1000), 0);
  EXPECT_EQ(set->take_out(0x2000), 23);
  EXPECT_EQ(set->take_out(kTagged), 7);
  EXPECT_EQ(set->take_out(0x2000), SampledSet::kNotIn);
}

TEST(SampledSet, HasBucketsForTheDistance) {
  EXPECT_EQ(SampledSet::buckets_for(512 << 10), 1u << 12);  // 256 KiB
  EXPECT_EQ(SampledSet::buckets_for(500'000), 1u << 12);    // always a power of two
  EXPECT_EQ(SampledSet::buckets_for(16 << 10), SampledSet::kMostBuckets);
  EXPECT_EQ(SampledSet::buckets_for(1), SampledSet::kMostBuckets);
  EXPECT_EQ(SampledSet::buckets_for(std::uint64_t{1} << 60), SampledSet::kFewestBuckets);
}

class SampledSets : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(OfAllSizes, SampledSets,
                         testing::Values(SampledSet::kFewestBuckets, SampledSet::kMostBuckets));

TEST_P(SampledSets, HoldWhatWasPutIn) {
  auto set = std::make_unique<SampledSet>();
  ASSERT_TRUE(set->prepare(GetParam()));
  const std::uint64_t kBlocks = GetParam() * std::uint64_t{8};  // more than the buckets hold without growing
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_TRUE(set->insert(i * 48, 0));
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_FALSE(set->remove(i * 48 + 16));
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_TRUE(set->remove(i * 48));
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_FALSE(set->remove(i * 48));
}

TEST(SampledSet, RulesNearlyAllOthersOutAtFirstSight) {
  auto set = std::make_unique<SampledSet>();
  ASSERT_TRUE(set->prepare(SampledSet::kFewestBuckets));
  constexpr std::uint64_t kSampled = 2'000;  // 1 GiB at 512 KiB
  constexpr std::uint64_t kOthers = 1'000'000;
  for (std::uint64_t i = 1; i <= kSampled; ++i) ASSERT_TRUE(set->insert(i << 19, 0));
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i <= kOthers; ++i) wrong += set->may_hold_at_first_sight((i << 6) + 16);
  EXPECT_LT(wrong, kOthers / 7);
  for (std::uint64_t i = 1; i <= kSampled; ++i) ASSERT_TRUE(set->may_hold_at_first_sight(i << 19));
  EXPECT_TRUE(set->may_hold_at_first_sight(0));
  EXPECT_FALSE(set->remove(0));
  for (std::uint64_t i = 1; i <= kSampled; ++i) ASSERT_TRUE(set->remove(i << 19));
  wrong = 0;
  for (std::uint64_t i = 1; i <= kOthers; ++i) wrong += set->may_hold_at_first_sight((i << 6) + 16);
  EXPECT_LT(wrong, kOthers / 10'000);  // what a null pointer leads to
}

TEST(SampledSet, IsSharedByThreads) {
  auto set = std::make_unique<SampledSet>();
  ASSERT_TRUE(set->prepare(SampledSet::kFewestBuckets));
  std::atomic<std::uint64_t> lost{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&set, &lost, t] {
      for (int round = 0; round < 20; ++round) {
        for (std::uint64_t i = 1; i <= 10'000; ++i) set->insert((i * 4 + t) * 16, 0);
        for (std::uint64_t i = 1; i <= 10'000; ++i) lost += !set->remove((i * 4 + t) * 16);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost.load(), 0u);
}

}  // namespace
}  // namespace tare::recorder
