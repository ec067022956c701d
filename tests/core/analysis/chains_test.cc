// Growth chains: by realloc, and by allocate, copy and free.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/made_up_trace.h"
#include "trace/model/seen_counts.h"

namespace tare::core {
namespace {

using trace::AllocApi;

double chain_value(const Tables& tables, const char* column, std::size_t row = 0) {
  return tables["growth"][column].doubles.at(row);
}

// The numbers of "Please grow your buffers exponentially": 1 byte to 1 MiB, byte by byte.
TEST(Chains, GrowingByteByByteShowsThePostsNumbers) {
  MadeUpTrace made;
  const auto first = made.stack(0x2000);
  const auto grower = made.stack(0x3000);
  constexpr std::uint64_t kMiB = 1 << 20;
  made.alloc(0x10000010, made.shape(first, 1));
  for (std::uint64_t size = 2; size <= kMiB; ++size) {
    made.realloc(0x10000010, 0x10000010, made.shape(grower, size, 0, 1, AllocApi::Realloc));
  }
  const Tables tables = made.replay();
  ASSERT_EQ(tables["growth"].rows(), 1u);
  EXPECT_EQ(tables["growth"]["kind"].text(0), "realloc");
  EXPECT_EQ(tables["growth"]["stack_id"].ints[0], trace::index(grower));
  EXPECT_EQ(chain_value(tables, "grown_blocks"), 1);
  EXPECT_EQ(chain_value(tables, "steps"), kMiB - 1);
  EXPECT_EQ(chain_value(tables, "requested_bytes"), 549'756'338'176.0);
  EXPECT_EQ(chain_value(tables, "rounded_4k_bytes"), 134'742'016.0);
  EXPECT_EQ(chain_value(tables, "doubling_bytes"), 2'093'056.0);
  EXPECT_EQ(chain_value(tables, "doubling_copied_bytes"), kMiB - 1);
  EXPECT_EQ(chain_value(tables, "in_place_steps"), kMiB - 1);
  EXPECT_EQ(chain_value(tables, "copied_bytes"), 0);
  EXPECT_EQ(chain_value(tables, "peak_blocks"), 1);
  EXPECT_EQ(tables["growth"]["max_requested_bytes"].ints[0], static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(chain_value(tables, "slow_steps"), kMiB - 1 - 5);  // up to 5 to 6, steps are a fifth or more
}

TEST(Chains, MovedStepsCopyAndDoublingIsNotSlow) {
  MadeUpTrace made;
  const auto grower = made.stack(0x3000);
  std::uint64_t address = 0x10010;
  made.alloc(address, made.shape(grower, 100));
  for (std::uint64_t size = 200; size <= 1600; size *= 2) {
    made.realloc(address, address + 0x10000, made.shape(grower, size, 0, 1, AllocApi::Realloc));
    address += 0x10000;
  }
  const Tables tables = made.replay();
  EXPECT_EQ(chain_value(tables, "steps"), 4);
  EXPECT_EQ(chain_value(tables, "slow_steps"), 0);
  EXPECT_EQ(chain_value(tables, "copied_bytes"), 100 + 200 + 400 + 800);
  EXPECT_EQ(chain_value(tables, "doubling_copied_bytes"), 1500);
}

TEST(Chains, StepsCountWhereTheyAreMadeAndTheChainWhereItBegan) {
  MadeUpTrace made;
  const auto a = made.stack(0x3000);
  const auto b = made.stack(0x4000);
  made.alloc(0x10010, made.shape(a, 10));
  made.realloc(0x10010, 0x20010, made.shape(a, 11));
  made.realloc(0x20010, 0x30010, made.shape(b, 12));
  made.realloc(0x30010, 0x40010, made.shape(b, 12));  // no growth, but still the chain
  made.realloc(0x40010, 0x50010, made.shape(b, 13));
  made.realloc(0x50010, 0x60010, made.shape(a, 5));  // shrinking ends it
  made.realloc(0x60010, 0x70010, made.shape(a, 6));
  const Tables tables = made.replay();
  const Table& chains = tables["growth"];
  ASSERT_EQ(chains.rows(), 2u);
  const std::size_t at_a = row_where(chains, "stack_id", trace::index(a));
  const std::size_t at_b = row_where(chains, "stack_id", trace::index(b));
  EXPECT_EQ(chain_value(tables, "grown_blocks", at_a), 2);
  EXPECT_EQ(chain_value(tables, "steps", at_a), 2);
  EXPECT_EQ(chain_value(tables, "requested_bytes", at_a), 10 + 11 + 5 + 6);
  EXPECT_EQ(chain_value(tables, "grown_blocks", at_b), 0);
  EXPECT_EQ(chain_value(tables, "steps", at_b), 2);
  EXPECT_EQ(chain_value(tables, "requested_bytes", at_b), 12 + 13);
}

TEST(Chains, AllocateCopyFreeIsGrowth) {
  MadeUpTrace made;
  const auto push_back = made.stack(0x3000);
  std::uint64_t address = 0x10010;
  made.alloc(address, made.shape(push_back, 16));
  for (std::uint64_t size = 32; size <= 256; size *= 2) {
    made.alloc(address + 0x1000, made.shape(push_back, size));
    made.free(address);
    address += 0x1000;
  }
  const Tables tables = made.replay();
  ASSERT_EQ(tables["growth"].rows(), 1u);
  EXPECT_EQ(tables["growth"]["kind"].text(0), "malloc-copy-free");
  EXPECT_EQ(chain_value(tables, "grown_blocks"), 1);
  EXPECT_EQ(chain_value(tables, "steps"), 4);
  EXPECT_EQ(chain_value(tables, "requested_bytes"), 16 + 32 + 64 + 128 + 256);
  EXPECT_EQ(chain_value(tables, "copied_bytes"), 16 + 32 + 64 + 128);
  EXPECT_EQ(chain_value(tables, "peak_blocks"), 1);  // 256 and, not yet known to be grown from, 128
}

TEST(Chains, UnrelatedBlocksAreNotGrowth) {
  MadeUpTrace made;
  const auto a = made.stack(0x3000);
  const auto b = made.stack(0x4000);
  const auto other = made.shape(made.stack(0x5000), 8);
  // another stack
  made.alloc(0x10010, made.shape(a, 16));
  made.alloc(0x20010, made.shape(b, 32));
  made.free(0x10010);
  // not larger
  made.alloc(0x30010, made.shape(b, 32));
  made.free(0x20010);
  // the larger one is the older one
  made.alloc(0x40010, made.shape(a, 64));
  made.alloc(0x50010, made.shape(a, 48));
  made.free(0x50010);
  // another thread
  made.alloc(0x60010, made.shape(a, 128), 1);
  made.free(0x40010, 0);
  // too long ago: 8 events lie between
  made.alloc(0x70010, made.shape(a, 256), 1);
  for (std::uint64_t i = 0; i < 8; ++i) made.alloc(0x80010 + 32 * i, other, 1);
  made.free(0x60010, 1);
  EXPECT_EQ(made.replay()["growth"].rows(), 0u);
}

TEST(Chains, ABlockTakesOverFromOneOnly) {
  MadeUpTrace made;
  const auto a = made.stack(0x3000);
  made.alloc(0x10010, made.shape(a, 16));
  made.alloc(0x20010, made.shape(a, 17));
  made.alloc(0x30010, made.shape(a, 64));
  made.free(0x10010);
  made.free(0x20010);
  const Tables tables = made.replay();
  EXPECT_EQ(chain_value(tables, "steps"), 1);  // 16 to 64; nothing is left for 17
}

TEST(Chains, EmptyStacksLinkNothing) {
  MadeUpTrace made;
  made.alloc(0x10010, made.shape(trace::kEmptyStack, 16));
  made.alloc(0x20010, made.shape(trace::kEmptyStack, 32));
  made.free(0x10010);
  EXPECT_EQ(made.replay()["growth"].rows(), 0u);
}

TEST(Chains, WeightsMultiply) {
  MadeUpTrace made;
  made.info.sample_bytes = 1000;
  const auto a = made.stack(0x3000);
  made.alloc(0x10010, made.shape(a, 10, 24, 2.5));
  made.realloc(0x10010, 0x20010, made.shape(a, 40, 40, 2.5));
  const Tables tables = made.replay();
  EXPECT_DOUBLE_EQ(chain_value(tables, "grown_blocks"), 2.5);
  EXPECT_DOUBLE_EQ(chain_value(tables, "requested_bytes"), 2.5 * 50);
  EXPECT_DOUBLE_EQ(chain_value(tables, "copied_bytes"), 25);
  EXPECT_DOUBLE_EQ(chain_value(tables, "peak_blocks"), 2.5);
}

// Chains of which each block is sampled with its own probability must add up to the exact run's sums in the mean.
TEST(Chains, MeansOfSampledOnesAreTheExactSums) {
  const std::vector<std::uint64_t> sizes = {10, 15, 40, 100, 700, 800, 5000, 5001, 90'000};
  const std::vector<double> weights = {2, 2, 1.6, 1.6, 1.4, 1.4, 1.2, 1.2, 1};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  const auto grow = [&](std::vector<bool> seen) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double weight = made.info.sample_bytes != 0 ? weights[i] : 1.0;
      const std::uint64_t address = 0x10010 + 0x100000 * i;
      const bool before = i > 0 && seen[i - 1];
      if (seen[i] && before) {
        made.realloc(address - 0x100000, address, made.shape(stack, sizes[i], 0, weight));
      } else {
        if (seen[i]) made.alloc(address, made.shape(stack, sizes[i], 0, weight));
        if (before) made.free(address - 0x100000);
      }
    }
    if (seen.back()) made.free(0x10010 + 0x100000 * (sizes.size() - 1));
  };
  constexpr int kChains = 40'000;  // standard deviations under 1 %
  for (int i = 0; i < 10; ++i) grow(std::vector<bool>(sizes.size(), true));
  const Tables exact = made.replay();
  EXPECT_EQ(chain_value(exact, "grown_blocks"), 10);
  made.events.clear();
  made.info.sample_bytes = 1000;
  for (int i = 0; i < kChains; ++i) {
    std::vector<bool> seen;
    const double luck = uniform(random);
    for (const double weight : weights) seen.push_back(luck < 1 / weight);
    grow(seen);
  }
  const Tables sampled = made.replay();
  for (const char* column : {"grown_blocks", "steps", "slow_steps", "copied_bytes", "doubling_copied_bytes",
                             "requested_bytes", "rounded_4k_bytes", "doubling_bytes"}) {
    const double expected = chain_value(exact, column) * kChains / 10;
    EXPECT_NEAR(chain_value(sampled, column), expected, 0.04 * expected) << column;
  }
}

// Growth by malloc, copy and free as a sampling recorder shows it: each block with its own luck, and before each event
// how much was seen. Another thread allocates meanwhile, and so does this one, at other places.
class SampledVectors {
 public:
  SampledVectors(MadeUpTrace& made, std::vector<std::uint64_t> sizes, std::vector<double> weights)
      : made_(made), sizes_(std::move(sizes)), weights_(std::move(weights)) {}

  template <typename Luck>
  void grow(Luck&& is_seen) {
    const auto stack = made_.stack(0x2000);
    bool before = false;
    for (std::size_t i = 0; i <= sizes_.size(); ++i) {
      const std::uint64_t address = 0x10010 + 0x100000 * i;
      bool now = false;
      if (i < sizes_.size()) {
        now = is_seen(i);
        if (now) {
          note();
          made_.alloc(address, made_.shape(stack, sizes_[i], 0, made_.info.sample_bytes != 0 ? weights_[i] : 1.0));
        }
        allocations_ += 1;
        see_others(4);
      }
      if (before) {
        note();
        made_.free(address - 0x100000);
      }
      if (i > 0) ++frees_;
      before = now;
    }
  }

 private:
  void note() {
    if (made_.info.sample_bytes == 0) return;
    const trace::SeenCounts seen{static_cast<std::uint32_t>(3 * allocations_), static_cast<std::uint16_t>(allocations_),
                                 static_cast<std::uint16_t>(frees_)};
    made_.add(trace::EventKind::Seen, seen.word());
  }
  void see_others(int count) {
    const auto other = made_.shape(made_.stack(0x9000), 8);
    for (int i = 0; i < count; ++i) {
      if (made_.info.sample_bytes == 0) made_.alloc(0x70000010 + 32 * allocations_, other);
      ++allocations_;
    }
  }
  MadeUpTrace& made_;
  std::vector<std::uint64_t> sizes_;
  std::vector<double> weights_;
  std::uint64_t allocations_ = 0;
  std::uint64_t frees_ = 0;
};

TEST(Chains, MeansOfSampledGrowthByMallocCopyAndFreeAreTheExactSums) {
  const std::vector<std::uint64_t> sizes = {100, 160, 300, 700, 800, 5000, 5001, 90'000};
  const std::vector<double> weights = {3, 2, 2, 1.6, 1.6, 1.2, 1.2, 1};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr int kExactChains = 10, kChains = 40'000;
  MadeUpTrace exact_made;
  SampledVectors exact_vectors(exact_made, sizes, weights);
  for (int i = 0; i < kExactChains; ++i) exact_vectors.grow([](std::size_t) { return true; });
  const Tables exact = exact_made.replay();
  EXPECT_EQ(chain_value(exact, "grown_blocks"), kExactChains);
  EXPECT_EQ(chain_value(exact, "steps"), kExactChains * 7);
  MadeUpTrace made;
  made.info.sample_bytes = 1000;
  SampledVectors vectors(made, sizes, weights);
  for (int i = 0; i < kChains; ++i)
    vectors.grow([&](std::size_t block) { return uniform(random) < 1 / weights[block]; });
  const Tables sampled = made.replay();
  for (const char* column : {"grown_blocks", "steps", "slow_steps", "copied_bytes", "doubling_copied_bytes",
                             "requested_bytes", "rounded_4k_bytes", "doubling_bytes"}) {
    const double expected = chain_value(exact, column) * kChains / kExactChains;
    EXPECT_NEAR(chain_value(sampled, column), expected, 0.04 * expected) << column;
  }
}

TEST(Chains, SamplingLinksOnlyWhatIsKnownToFollow) {
  const auto steps = [](std::uint64_t requested, double weight, trace::SeenCounts at_free) {
    MadeUpTrace made;
    made.info.sample_bytes = 1000;
    const auto push_back = made.stack(0x3000);
    made.add(trace::EventKind::Seen, trace::SeenCounts{100, 50, 20}.word());
    made.alloc(0x10010, made.shape(push_back, 16, 24, 1.5));
    made.add(trace::EventKind::Seen, trace::SeenCounts{200, 60, 30}.word());
    made.alloc(0x20010, made.shape(push_back, requested, 40, weight));
    if (at_free.allocations != 0) made.add(trace::EventKind::Seen, at_free.word());
    made.free(0x10010);
    const Tables tables = made.replay();
    return tables["growth"].rows() == 0 ? 0.0 : chain_value(tables, "steps");
  };
  EXPECT_DOUBLE_EQ(steps(32, 2, {230, 61, 30}), 3);  // next: an allocation after the one before it
  EXPECT_DOUBLE_EQ(steps(32, 2, {230, 68, 30}), 3);
  EXPECT_EQ(steps(32, 2, {230, 69, 30}), 0);  // too many allocations lie between
  EXPECT_EQ(steps(32, 2, {230, 61, 31}), 0);  // another free lies between
  EXPECT_EQ(steps(32, 2, {}), 0);             // nobody knows what lies between
  EXPECT_EQ(steps(16, 2, {230, 61, 30}), 0);  // doesn't grow
  EXPECT_EQ(steps(32, 9, {230, 61, 30}), 0);  // too rare a chance to see it
}

TEST(Chains, OnlyTheFirstFreeAfterABlockMayBeItsPredecessors) {
  MadeUpTrace made;
  const auto a = made.stack(0x3000);
  const auto other = made.shape(made.stack(0x5000), 8);
  made.alloc(0x10010, made.shape(a, 16));
  made.alloc(0x20010, other);
  made.alloc(0x30010, made.shape(a, 64));
  made.free(0x20010);
  made.free(0x10010);
  EXPECT_EQ(made.replay()["growth"].rows(), 0u);
}

}  // namespace
}  // namespace tare::core
