// The distance between samples doubles while blocks live: sums stay right in the mean, and sampling can stop.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/analysis/thinned_weight.h"
#include "recorder/events/sampling.h"
#include "sampling_calls.h"

namespace tare::recorder {
namespace {

struct Held {
  double weight = 0;
  std::uint64_t bytes = 0;
};
enum class Samples : std::uint8_t { AreThinned, KeepTheirWeights };  // in a watch file, in a recording

// Live blocks while the distance doubles again and again: two threads take turns, so that one's next sample was drawn
// with an older distance. Exactly, without a sampler.
Sums run_widening(Sampler* sampler, Samples samples, std::uint64_t seed) {
  SamplingState states[2] = {};
  if (sampler != nullptr) {
    for (std::uint64_t thread = 0; thread < 2; ++thread) sampler->seed(states[thread], thread);
  }
  std::uint64_t random = 99;
  std::uint64_t lucky = seed * 0x9e3779b97f4a7c15 + 12345;
  const auto next = [](std::uint64_t& state) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return state >> 33;
  };
  const auto thin = [&](double weight, std::uint64_t bytes) {
    const double luck = (static_cast<double>(next(lucky)) + 0.5) * 0x1p-31;
    return weight == 0 ? 0 : sampler->thin(weight, Sampler::octave(bytes), luck);
  };
  Sums sums;
  std::vector<Held> all(3000);
  for (int step = 0; step < 60'000; ++step) {
    Held& held = all[next(random) % all.size()];
    SamplingState& state = states[next(random) % 2];
    const std::uint64_t bytes = next(random) % 50 == 0 ? 20'000 + next(random) % 30'000 : 24 + next(random) % 2000;
    const bool grows = held.bytes != 0 && next(random) % 3 == 0;
    if (sampler == nullptr) {
      held.weight = 1;
      sums.step_bytes += grows;
    } else if (grows) {
      const int before = Sampler::octave(held.bytes), after = Sampler::octave(bytes);
      if (held.weight == 0) {
        held.weight = grown(*sampler, state, before, after);
      } else {
        const std::uint32_t odds =
            samples == Samples::AreThinned ? sampler->newest_odds() : odds_of(*sampler, held.weight, held.bytes);
        const auto [weight, continues] = sampler->decide_again(state, odds, before, after);
        if (continues)
          sums.step_bytes += std::max(core::thinned_weight(held.weight, held.bytes, weight, bytes), weight);
        held.weight = weight;
      }
    } else {
      held.weight = decided(*sampler, state, bytes);
    }
    held.bytes = bytes;
    sums.blocks += held.weight;
    sums.bytes += held.weight * static_cast<double>(bytes);
    if (sampler == nullptr) continue;
    if (samples == Samples::AreThinned) held.weight = thin(held.weight, bytes);
    if (step % 7000 == 6999) {
      EXPECT_TRUE(sampler->widen());
      for (Held& each : all) {
        if (samples == Samples::AreThinned) each.weight = thin(each.weight, each.bytes);
      }
    }
  }
  for (const Held& held : all) {
    sums.live_bytes += held.weight * static_cast<double>(held.bytes);
    sums.steps += held.weight;  // live blocks
  }
  return sums;
}

class WideningSampler : public testing::TestWithParam<Samples> {};
INSTANTIATE_TEST_SUITE_P(OfWatchAndRecording, WideningSampler,
                         testing::Values(Samples::AreThinned, Samples::KeepTheirWeights));

TEST_P(WideningSampler, IsRightInTheMean) {
  const Sums exact = run_widening(nullptr, GetParam(), 0);
  auto sampler = std::make_unique<Sampler>();
  constexpr int kSeeds = 200;
  std::vector<Sums> all;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ASSERT_TRUE(sampler->prepare(256, static_cast<std::uint64_t>(seed)));
    all.push_back(run_widening(sampler.get(), GetParam(), static_cast<std::uint64_t>(seed)));
    ASSERT_EQ(sampler->mean_bytes(), 256u << 8);
  }
  // Within 4 standard errors of the mean, which are less than two percent.
  const auto check = [&](double Sums::* sum) {
    double mean = 0;
    double square = 0;
    for (const Sums& sums : all) mean += sums.*sum / kSeeds;
    for (const Sums& sums : all) square += (sums.*sum - mean) * (sums.*sum - mean) / (kSeeds - 1);
    const double error = std::sqrt(square / kSeeds);
    EXPECT_LT(error, 0.02 * exact.*sum);
    EXPECT_NEAR(mean, exact.*sum, 4 * error);
  };
  check(&Sums::blocks);
  check(&Sums::bytes);
  check(&Sums::live_bytes);
  check(&Sums::steps);
  check(&Sums::step_bytes);  // reallocs
}

TEST(Sampling, TheDistanceDoublesAtMost23Times) {
  auto sampler = std::make_unique<Sampler>();
  ASSERT_TRUE(sampler->prepare(1024, 1));
  int times = 0;
  while (sampler->widen()) ++times;
  EXPECT_EQ(times, 23);
  EXPECT_EQ(sampler->doublings(), 23u);
}

TEST(Sampling, TakesNoMoreSamplesOnceStopped) {
  for (const std::uint32_t doublings : {0u, 3u, 23u}) {
    auto sampler = std::make_unique<Sampler>();
    ASSERT_TRUE(sampler->prepare(1024, 1));
    for (std::uint32_t i = 0; i < doublings; ++i) ASSERT_TRUE(sampler->widen());
    SamplingState state{};
    sampler->seed(state, 0);
    sampler->stop();
    sampler->stop();
    EXPECT_TRUE(sampler->is_stopped());
    EXPECT_FALSE(sampler->widen());
    EXPECT_EQ(sampler->doublings(), doublings);
    int samples = 0;
    for (int i = 0; i < 100'000; ++i) samples += decided(*sampler, state, 1 << 20) != 0;
    EXPECT_LE(samples, 1);  // that was drawn before
    for (int i = 0; i < 10; ++i) EXPECT_EQ(sampler->decide_grown(state, 5, 30), 0);
    EXPECT_EQ(sampler->decide_again(state, doublings, 30, 30).weight, 0);
    EXPECT_EQ(sampler->decide_again(state, 0, 30, 5).weight, 0);
    ASSERT_TRUE(sampler->prepare(1024, 1));
    EXPECT_FALSE(sampler->is_stopped());
    EXPECT_EQ(sampler->doublings(), 0u);
  }
}

}  // namespace
}  // namespace tare::recorder
