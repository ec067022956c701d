// The budget of a watched process: its text, when the distance doubles, and that sums stay right meanwhile.
#include "recorder/limits/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "recorder/events/sampling.h"

namespace tare::recorder {
namespace {

TEST(Budget, IsReadFromText) {
  Budget budget;
  ASSERT_TRUE(parse_budget("cpu=0.5%,memory=16M,disk=1G", budget));
  EXPECT_DOUBLE_EQ(budget.cpu_share, 0.005);
  EXPECT_EQ(budget.memory_bytes, 16u << 20);
  EXPECT_EQ(budget.disk_bytes, 1u << 30);
  ASSERT_TRUE(parse_budget("disk=65536", budget));
  EXPECT_EQ(budget.cpu_share, 0);
  EXPECT_EQ(budget.memory_bytes, 0u);
  EXPECT_EQ(budget.disk_bytes, 65536u);
  ASSERT_TRUE(parse_budget("cpu=100%", budget));
  EXPECT_EQ(budget.cpu_share, 1);
  for (const char* wrong : {"", "cpu", "cpu=", "cpu=%", "cpu=0%", "cpu=101%", "cpu=0.5", "cpu=-1%", "cpu=.%",
                            "cpu=1.2.3%", "cpu=1%,", ",cpu=1%", "cpu=1%,cpu=2%", "memory=16T", "memory=0",
                            "memory=16MB", "disk=1G,x=1", "disk =1G", "memory=99999999999999999999"}) {
    EXPECT_FALSE(parse_budget(wrong, budget)) << wrong;
    EXPECT_FALSE(budget.is_given()) << wrong;
  }
}

TEST(CpuLimit, DoublesUntilTheShareIsKept) {
  CpuLimit limit;
  limit.begin(0.01);
  CpuUse use;
  double rate = 0.4;  // of the time, at the first distance
  int times = 0;
  for (int look = 0; look < 20'000; ++look) {
    use.process += 1e6;
    use.own += 1e6 * rate;
    const int now = limit.doublings(use);
    times += now;
    rate /= std::pow(2, now);
  }
  EXPECT_EQ(times, 6);  // 0.4 / 64 is the first below the share
  EXPECT_LE(use.own, 0.01 * (use.process + CpuLimit::kGraceNs));
}

TEST(CpuLimit, KeepsTheDistanceWithinTheShareAndInTheFirstSecond) {
  CpuLimit limit;
  limit.begin(0.01);
  EXPECT_EQ(limit.doublings({9.9e6, 0, 1e6}), 0);
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(limit.doublings({9.9e6 + 9e6 * i, 0, 1e6 + 1e9 * i}), 0);
  CpuLimit none;
  none.begin(0);
  EXPECT_EQ(none.doublings({1e9, 0, 1e9}), 0);
}

TEST(CpuLimit, KeepsTheDistanceWhereUnusualCallsTakeTheTime) {
  CpuLimit limit;
  limit.begin(0.01);
  CpuUse use;
  for (int look = 0; look < 5000; ++look) {
    use.process += 1e6;
    use.own += 0.007e6;
    if (look < 500) {  // reading modules takes half of the first time
      use.own += 0.5e6;
      use.unusual += 0.5e6;
    }
    ASSERT_EQ(limit.doublings(use), 0) << look;
  }
}

// A rarer sample finds less in the processor's caches, so the first doublings save a third, the later ones half.
double usual_ns(int doublings) { return std::min(4000 * std::pow(4.0 / 3, doublings), 15e3); }
double rate_at(double first_rate, int doublings) {
  return first_rate * usual_ns(doublings) / usual_ns(0) / std::pow(2, doublings);
}

// A program with samples at random times and of random costs, after calls that read modules.
struct Converged {
  int doublings = 0;
  double share_after_first_second = 0;
};

Converged converge(double share, double first_rate, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto luck = [&random] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  CpuLimit limit;
  limit.begin(share);
  CpuUse use;
  Converged result;
  double own_after_first_second = 0;
  for (int call = 1; use.process < 20e9; ++call) {
    const double usual = usual_ns(result.doublings);
    use.process -= usual / rate_at(first_rate, result.doublings) * std::log(luck());
    use.own += usual * (0.2 + 1.6 * luck());
    if (call <= 400 && call % 20 == 0) {
      use.own += 300e3;
      use.unusual += 300e3;
    }
    if (use.process < 1e9) own_after_first_second = use.own;
    if (call % 32 == 0) result.doublings += limit.doublings(use);
  }
  result.share_after_first_second = (use.own - own_after_first_second) / (use.process - 1e9);
  return result;
}

TEST(CpuLimit, EndsAtMostFourTimesAboveTheNarrowestDistance) {
  for (const double share : {0.002, 0.005, 0.02}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const double first_rate = share * (0.5 + static_cast<double>(seed));
      int narrowest = 0;
      while (rate_at(first_rate, narrowest) > share) ++narrowest;
      const Converged result = converge(share, first_rate, seed);
      EXPECT_GE(result.doublings, narrowest - 1) << share << ' ' << seed;
      EXPECT_LE(result.doublings, narrowest + 2) << share << ' ' << seed;
      EXPECT_LE(result.share_after_first_second, 1.05 * share) << share << ' ' << seed;
    }
  }
}

TEST(RoomLimit, WidensAtEachHalfOfTheRest) {
  RoomLimit limit;
  limit.begin(1 << 20, 0);
  int times = 0;
  for (std::uint64_t used = 0; used <= 1 << 20; used += 1024) {
    const RoomLimit::Verdict verdict = limit.look(used);
    ASSERT_NE(verdict, RoomLimit::Verdict::Exceeded);
    times += verdict == RoomLimit::Verdict::Widen;
  }
  EXPECT_GE(times, 7);
  EXPECT_LE(times, 9);
  EXPECT_EQ(limit.look((1 << 20) + 1), RoomLimit::Verdict::Exceeded);
  RoomLimit none;
  none.begin(0, 100);
  EXPECT_EQ(none.look(std::uint64_t{1} << 40), RoomLimit::Verdict::Kept);
}

// Blocks that live and die while the share decides when the distance doubles: each sampled call costs a microsecond,
// and a call of the program ten nanoseconds, so that the share is far too large at first.
struct Estimate {
  double blocks = 0;
  double bytes = 0;
  double live_bytes = 0;
  double share = 0;
  std::uint64_t mean_bytes = 0;
};

constexpr int kCalls = 400'000;
constexpr std::size_t kHeldBlocks = 20'000;
constexpr double kOwnNs = 1000;
constexpr double kCallNs = 10'000;
constexpr double kShare = 0.002;

Estimate run(std::uint64_t seed) {
  auto sampler = std::make_unique<Sampler>();
  EXPECT_TRUE(sampler->prepare(256, seed));
  SamplingState state{};
  sampler->seed(state, 0);
  CpuLimit limit;
  limit.begin(kShare);
  struct Held {
    double weight = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Held> all(kHeldBlocks);
  std::uint64_t random = 99;
  std::uint64_t lucky = seed * 0x9e3779b97f4a7c15 + 12345;
  const auto next = [](std::uint64_t& word) {
    word = word * 6364136223846793005 + 1442695040888963407;
    return word >> 33;
  };
  const auto thin = [&](Held& held) {
    if (held.weight == 0) return;
    held.weight =
        sampler->thin(held.weight, Sampler::octave(held.bytes), (static_cast<double>(next(lucky)) + 0.5) * 0x1p-31);
  };
  Estimate sums;
  double own = 0;
  int recorded = 0;
  for (int call = 1; call <= kCalls; ++call) {
    Held& held = all[next(random) % all.size()];
    int recorded_now = held.weight != 0;
    held.bytes = 24 + next(random) % 2000;
    held.weight = sampler->decide(state, Sampler::octave(held.bytes));
    if (held.weight != 0) {
      Sampler::count_allocation(state);
      ++recorded_now;
      sums.blocks += held.weight;
      sums.bytes += held.weight * static_cast<double>(held.bytes);
      thin(held);
    }
    own += kOwnNs * recorded_now;
    if ((recorded += recorded_now) < 32) continue;
    recorded = 0;
    for (int times = limit.doublings({own, 0, call * kCallNs}); times > 0; --times) {
      EXPECT_TRUE(sampler->widen());
      for (Held& each : all) thin(each);
    }
  }
  for (const Held& held : all) sums.live_bytes += held.weight * static_cast<double>(held.bytes);
  sums.share = own / (kCalls * kCallNs + CpuLimit::kGraceNs);
  sums.mean_bytes = sampler->mean_bytes();
  return sums;
}

TEST(CpuLimit, SumsAreRightInTheMeanWhileTheShareIsKept) {
  // The same calls, exactly.
  double blocks = kCalls;
  double bytes = 0;
  std::vector<std::uint64_t> live(kHeldBlocks);
  std::uint64_t random = 99;
  const auto next = [&random] {
    random = random * 6364136223846793005 + 1442695040888963407;
    return random >> 33;
  };
  for (int call = 0; call < kCalls; ++call) {
    std::uint64_t& held = live[next() % live.size()];
    held = 24 + next() % 2000;
    bytes += static_cast<double>(held);
  }
  double live_bytes = 0;
  for (const std::uint64_t each : live) live_bytes += static_cast<double>(each);

  constexpr int kSeeds = 200;
  std::vector<Estimate> all;
  for (int seed = 0; seed < kSeeds; ++seed) {
    all.push_back(run(static_cast<std::uint64_t>(seed)));
    EXPECT_GE(all.back().mean_bytes, 256u << 4) << seed;
    EXPECT_LE(all.back().share, 1.05 * kShare) << seed;
  }
  const auto check = [&](double Estimate::* sum, double exact, double most_error) {
    double mean = 0;
    double square = 0;
    for (const Estimate& each : all) mean += each.*sum / kSeeds;
    for (const Estimate& each : all) square += (each.*sum - mean) * (each.*sum - mean) / (kSeeds - 1);
    const double error = std::sqrt(square / kSeeds);
    EXPECT_LT(error, most_error * exact);
    EXPECT_NEAR(mean, exact, 4 * error);
  };
  check(&Estimate::blocks, blocks, 0.01);
  check(&Estimate::bytes, bytes, 0.01);
  check(&Estimate::live_bytes, live_bytes, 0.02);
}

}  // namespace
}  // namespace tare::recorder
