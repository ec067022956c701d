// Sampling is right in the mean: blocks, bytes and growth chains, over many seeds.
#include "recorder/events/sampling.h"

#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "recorder/base/numeric.h"
#include "sampling_calls.h"

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

// A program's worth of blocks and chains, each sum with the weights of what was sampled; without a sampler, exactly.
Sums run_program(const Sampler* sampler, std::uint64_t seed) {
  SamplingState state{};
  if (sampler != nullptr) sampler->seed(state, seed);
  Sums sums;
  const auto begin = [&](std::uint64_t bytes) {
    const double weight = sampler == nullptr ? 1 : decided(*sampler, state, bytes);
    sums.blocks += weight;
    sums.bytes += weight * static_cast<double>(bytes);
    return weight;
  };
  const auto change = [&](double& weight, std::uint64_t from, std::uint64_t to) {
    const int before = Sampler::octave(from), after = Sampler::octave(to);
    double next = weight;
    if (sampler != nullptr && weight == 0) {
      next = grown(*sampler, state, before, after);
    } else if (sampler != nullptr) {
      next = sampler->decide_again(state, odds_of(*sampler, weight, from), before, after).weight;
    }
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

// As the hooks do it, with blocks of the C library's: decided by what is requested, and by their size at reallocs.
// Requests lie around the limits of octaves.
Sums run_real_blocks(const Sampler* sampler, std::uint64_t seed) {
  constexpr std::uint64_t kHeader = 8;
  SamplingState state{};
  if (sampler != nullptr) sampler->seed(state, seed);
  Sums sums;
  std::uint64_t random = 1;
  const auto next_random = [&random](std::uint64_t below) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return (random >> 33) % below;
  };
  const auto next_request = [&] {
    const std::uint64_t limit = std::uint64_t{64} << next_random(5);
    return limit - 56 + next_random(64);
  };
  const auto add = [&sums](double weight, std::uint64_t bytes) {
    sums.blocks += weight;
    sums.bytes += weight * static_cast<double>(bytes);
  };
  struct Held {
    void* block = nullptr;
    std::uint64_t bytes = 0;
    double weight = 0;
  };
  std::vector<Held> all(500);
  for (int round = 0; round < 30'000; ++round) {
    Held& held = all[next_random(all.size())];
    if (held.block == nullptr) {
      held.bytes = next_request();
      held.weight = 1;
      if (sampler != nullptr) {
        held.weight = sampler->decide(state, Sampler::request_octave(held.bytes));
        if (held.weight != 0) Sampler::count_allocation(state);
      }
      held.block = std::malloc(held.bytes);
      add(held.weight, held.bytes);
    } else if (next_random(3) != 0) {
      const int before = Sampler::octave(malloc_usable_size(held.block));
      const double old_weight = held.weight;
      const std::uint64_t old_bytes = held.bytes;
      held.bytes = next_request();
      held.block = std::realloc(held.block, held.bytes);
      if (sampler != nullptr && held.weight == 0) {
        held.weight = grown(*sampler, state, before, Sampler::request_octave(held.bytes));
      } else if (sampler != nullptr) {
        const int after = Sampler::octave(malloc_usable_size(held.block));
        held.weight = sampler->decide_again(state, 0, before, after).weight;
      }
      add(held.weight, held.bytes);
      if (old_weight != 0 && held.weight != 0) {
        sums.steps += std::max(old_weight, held.weight);
        sums.step_bytes += std::max(old_weight, held.weight) * static_cast<double>(old_bytes + kHeader);
      }
    } else {
      std::free(held.block);
      held.block = nullptr;
    }
  }
  for (const Held& held : all) {
    if (held.block != nullptr) sums.live_bytes += held.weight * static_cast<double>(held.bytes);
    std::free(held.block);
  }
  return sums;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kGlibcsBlocks = false;
#else
constexpr bool kGlibcsBlocks = true;
#endif

TEST(Sampling, IsRightInTheMeanForBlocksDecidedBeforehand) {
  if (!kGlibcsBlocks) GTEST_SKIP() << "another allocator's blocks";
  const Sums exact = run_real_blocks(nullptr, 0);
  auto sampler = std::make_unique<Sampler>();
  Sums mean;
  constexpr int kSeeds = 400;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ASSERT_TRUE(sampler->prepare(1024, static_cast<std::uint64_t>(seed)));
    const Sums sums = run_real_blocks(sampler.get(), 1);
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
  EXPECT_NEAR(mean.live_bytes / exact.live_bytes, 1, 0.02);
}

// The C library's blocks are nearly always of the octave that follows from the request.
TEST(Sampling, OctavesFollowFromRequests) {
  if (!kGlibcsBlocks) GTEST_SKIP() << "another allocator's blocks";
  std::vector<void*> blocks;
  std::uint64_t larger = 0;
  for (std::uint64_t bytes = 0; bytes <= Sampler::kMostEarlyBytes; ++bytes) {
    blocks.push_back(std::malloc(bytes));
    const int expected = std::max(Sampler::request_octave(bytes), 5);  // at least 32 bytes
    const int found = Sampler::octave(malloc_usable_size(blocks.back()));
    EXPECT_TRUE(found == expected || found == expected + 1) << bytes;
    larger += found != expected;
  }
  for (void* block : blocks) std::free(block);
  EXPECT_LT(larger, 20u);
}

// On the heap and mapped: glibc rounds blocks of 128 KiB and more up to pages.
TEST(Sampling, OctavesOfLargerRequestsAreCertainOrNot) {
  if (!kGlibcsBlocks) GTEST_SKIP() << "another allocator's blocks";
  int certain = 0, requests = 0;
  const auto check = [&](std::uint64_t bytes) {
    ++requests;
    if (!Sampler::is_octave_certain(bytes)) return;
    ++certain;
    void* const block = std::malloc(bytes);
    EXPECT_EQ(Sampler::octave(malloc_usable_size(block)), Sampler::request_octave(bytes)) << bytes;
    std::free(block);
  };
  for (std::uint64_t bytes = 4097; bytes < (8 << 20); bytes += bytes / 61) check(bytes);
  EXPECT_GT(certain, requests * 8 / 10);
  for (int octave = 13; octave < 24; ++octave) {
    const std::uint64_t limit = std::uint64_t{1} << octave;
    for (std::uint64_t below = 0; below < 5000; below += 7) check(limit - below);
    for (std::uint64_t above = 1; above < 100; ++above) check(limit + above);
  }
  EXPECT_FALSE(Sampler::is_octave_certain(std::uint64_t{1} << 30));
  EXPECT_FALSE(Sampler::is_octave_certain(~std::uint64_t{0} - 22));
}

// The bytes until a sample and the allocations lie in one word: each is right, whatever the other does.
TEST(Sampling, CountsInTheSameWord) {
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(300, 5));
  SamplingState state{};
  sampler->enlist(state);
  std::uint32_t allocations = 0;
  const std::uint16_t frees = frees_seen;
  for (int thread = 0; thread < 3; ++thread) {  // that have the state in turn
    sampler->seed(state, static_cast<std::uint64_t>(thread));
    for (std::uint64_t i = 0; i < 50'000; ++i, ++allocations) {
      ASSERT_EQ(sampler->seen(state).allocations, allocations);
      decided(*sampler, state, i % 700);
      if (i % 3 == 0) Sampler::count_free();
    }
  }
  EXPECT_EQ(sampler->seen(state).thread_allocations, static_cast<std::uint16_t>(allocations));
  EXPECT_EQ(static_cast<std::uint16_t>(sampler->seen(state).thread_frees - frees), 3 * 16'667 % 65536);
}

// A sample doesn't read the counts of all of many threads, but some calls later all are in the sum.
TEST(Sampling, CountsOfManyThreadsAreAddedInTurn) {
  constexpr std::size_t kThreads = 1000;
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(1 << 20, 5));
  std::vector<SamplingState> states(kThreads);
  for (SamplingState& state : states) sampler->enlist(state);
  for (SamplingState& state : states) Sampler::count_allocation(state);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < 2 * kThreads / Sampler::kMostStates + 2; ++i) {
    const std::uint32_t now = sampler->seen(states[0]).allocations;
    ASSERT_GE(now, before);
    ASSERT_LE(now - before, Sampler::kMostStates + 1);
    before = now;
  }
  EXPECT_EQ(before, kThreads);
}

// More bytes until a sample than the word holds.
TEST(Sampling, IsRightInTheMeanForRareSamples) {
  constexpr std::uint64_t kMean = std::uint64_t{6} << 30;
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 26;
  constexpr int kBlocks = 3'000'000;
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(kMean, 11));
  SamplingState state{};
  sampler->seed(state, 0);
  double sum = 0;
  for (int i = 0; i < kBlocks; ++i) sum += decided(*sampler, state, kBlock);
  EXPECT_NEAR(sum / kBlocks, 1, 0.02);  // some 47,000 samples: three standard errors are 0.014
}

TEST(Sampling, StopsAndGoesOn) {
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(1 << 20, 1));
  SamplingState state{};
  sampler->seed(state, 0);
  ASSERT_TRUE(sampler->passes_by(state, 5));
  const std::int64_t countdown = Sampler::stop_all(state);
  for (int size = 0; size < 64; ++size) {
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(sampler->passes_by(state, size));
  }
  Sampler::give_back(state, countdown);
  EXPECT_TRUE(sampler->passes_by(state, 5));
}

TEST(Sampling, CountsEachReallocOnce) {
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(4096, 7));
  SamplingState state{};
  sampler->seed(state, 1);
  sampler->enlist(state);
  constexpr std::uint32_t kReallocs = 100'000;
  std::uint32_t sampled = 0;
  for (std::uint32_t i = 0; i < kReallocs; ++i) {
    const int before = 5 + static_cast<int>(i % 9);
    sampled += grown(*sampler, state, before, before + static_cast<int>(i % 4) - 1) != 0;
  }
  EXPECT_GT(sampled, 1000u);
  EXPECT_EQ(sampler->seen(state).allocations, kReallocs);
}

// From 1 GiB on no countdown is as large as a block, and the bytes beyond it decide.
TEST(Sampling, HugeBlocksGrowWithTheRightChance) {
  constexpr int kBlocks = 20'000;
  constexpr double kMeanBytes = double{std::uint64_t{16} << 30};
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(static_cast<std::uint64_t>(kMeanBytes), 3));
  for (const auto& [before, after] : {std::pair{20, 31}, {30, 31}, {31, 34}, {33, 33}, {34, 30}}) {
    SamplingState state{};
    sampler->seed(state, static_cast<std::uint64_t>(before * 100 + after));
    int sampled = 0;
    for (int i = 0; i < kBlocks; ++i) sampled += grown(*sampler, state, before, after) != 0;
    const double bytes = after > before ? 1.5 * (std::ldexp(1, after) - std::ldexp(1, before)) : 0;
    const double chance = -std::expm1(-bytes / kMeanBytes);
    EXPECT_NEAR(sampled, kBlocks * chance, 5 * std::sqrt(kBlocks * chance * (1 - chance)) + 1e-9) << before << after;
  }
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
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(decided(*sampler, state, 1 << 20), 1);
}

}  // namespace
}  // namespace tare::recorder
