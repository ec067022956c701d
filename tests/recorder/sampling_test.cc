// Sampling is right in the mean: blocks, bytes and growth chains, over many seeds.
#include "recorder/events/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "recorder/base/numeric.h"

namespace tare::recorder {
namespace {

TEST(Numeric, AgreesWithTheMathsLibrary) {
  double x = 1e-12;
  while (x < 1e6) {
    EXPECT_NEAR(natural_logarithm(x), std::log(x), 1e-13 * std::max(1.0, std::abs(std::log(x)))) << x;
    EXPECT_NEAR(one_minus_exp_minus(x), -std::expm1(-x), 1e-13 * -std::expm1(-x)) << x;
    x *= 1.37;
  }
}

struct Sums {
  double blocks = 0;
  double bytes = 0;
  double steps = 0;       // of growth
  double step_bytes = 0;  // copied by them
  double live_bytes = 0;  // at the end
};

// A program's worth of blocks and chains, each sum with the weights of what was sampled; without a sampler, exactly.
Sums run_program(const Sampler* sampler, std::uint64_t seed) {
  SamplingState state{};
  if (sampler != nullptr) sampler->seed(state, seed);
  Sums sums;
  const auto begin = [&](std::uint64_t bytes) {
    const double weight = sampler == nullptr ? 1 : sampler->decide(state, bytes);
    sums.blocks += weight;
    sums.bytes += weight * static_cast<double>(bytes);
    return weight;
  };
  const auto change = [&](double& weight, std::uint64_t from, std::uint64_t to) {
    const int before = Sampler::octave(from), after = Sampler::octave(to);
    double next = weight;
    if (sampler != nullptr && before != after) next = sampler->decide_again(state, weight != 0, before, after);
    if (weight != 0 && next != 0) {
      sums.steps += std::max(weight, next);
      sums.step_bytes += std::max(weight, next) * static_cast<double>(from);
    }
    weight = next;
    sums.blocks += weight;
    sums.bytes += weight * static_cast<double>(to);
  };
  for (int i = 0; i < 20'000; ++i) begin(24 + static_cast<std::uint64_t>(i % 40) * 16);
  for (int i = 0; i < 300; ++i) begin(static_cast<std::uint64_t>(i) * 97 + 5000);
  for (int chain = 0; chain < 400; ++chain) {
    std::uint64_t bytes = 24;
    double weight = begin(bytes);
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t to = step == 40 ? bytes / 5 + 24 : bytes + bytes / 8 + 16;  // one shrinks on its way
      change(weight, bytes, to);
      bytes = to;
    }
    sums.live_bytes += weight * static_cast<double>(bytes);
  }
  return sums;
}

TEST(Sampling, IsRightInTheMeanOver200Seeds) {
  const Sums exact = run_program(nullptr, 0);
  auto sampler = std::make_unique<Sampler>();
  Sums mean;
  constexpr int kSeeds = 200;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ASSERT_TRUE(sampler->prepare(2048, static_cast<std::uint64_t>(seed)));
    const Sums sums = run_program(sampler.get(), 1);
    mean.blocks += sums.blocks / kSeeds;
    mean.bytes += sums.bytes / kSeeds;
    mean.steps += sums.steps / kSeeds;
    mean.step_bytes += sums.step_bytes / kSeeds;
    mean.live_bytes += sums.live_bytes / kSeeds;
  }
  EXPECT_NEAR(mean.blocks / exact.blocks, 1, 0.01);
  EXPECT_NEAR(mean.bytes / exact.bytes, 1, 0.01);
  EXPECT_NEAR(mean.steps / exact.steps, 1, 0.01);
  EXPECT_NEAR(mean.step_bytes / exact.step_bytes, 1, 0.01);
  EXPECT_NEAR(mean.live_bytes / exact.live_bytes, 1, 0.01);
}

TEST(Sampling, SameSeedSameSample) {
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(1024, 42));
  EXPECT_EQ(run_program(sampler.get(), 3).bytes, run_program(sampler.get(), 3).bytes);
  EXPECT_NE(run_program(sampler.get(), 3).bytes, run_program(sampler.get(), 4).bytes);
}

TEST(Sampling, HugeBlocksAreAlwaysSampled) {
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(1024, 7));
  SamplingState state{};
  sampler->seed(state, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sampler->decide(state, 1 << 20), 1);
}

TEST(SampledSet, HoldsWhatWasPutIn) {
  auto set = std::make_unique<SampledSet>();
  ASSERT_TRUE(set->prepare());
  constexpr std::uint64_t kBlocks = 1'000'000;  // more than the buckets hold without growing
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_TRUE(set->insert(i * 48));
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_FALSE(set->remove(i * 48 + 16));
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_TRUE(set->remove(i * 48));
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_FALSE(set->remove(i * 48));
}

TEST(SampledSet, IsSharedByThreads) {
  auto set = std::make_unique<SampledSet>();
  ASSERT_TRUE(set->prepare());
  std::atomic<std::uint64_t> lost{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&set, &lost, t] {
      for (int round = 0; round < 20; ++round) {
        for (std::uint64_t i = 1; i <= 10'000; ++i) set->insert((i * 4 + t) * 16);
        for (std::uint64_t i = 1; i <= 10'000; ++i) lost += !set->remove((i * 4 + t) * 16);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost.load(), 0u);
}

}  // namespace
}  // namespace tare::recorder
