// Sampled recordings of real runs: their weighted sums stand for the exact ones.
#include <gtest/gtest.h>

#include "test_launcher.h"

namespace tare::test {
namespace {

struct Sums {
  double allocs = 0;
  double requested = 0;
  std::uint64_t events = 0;
};

Sums weigh(const SpoolImage& image) {
  Sums sums;
  for (const ThreadEvents& thread : image.threads()) {
    for (const RawEvent& event : thread.events) {
      if (event.op != trace::Op::Alloc && event.op != trace::Op::Realloc) continue;
      sums.allocs += event.weight;
      sums.requested += event.weight * static_cast<double>(event.requested);
      ++sums.events;
    }
  }
  return sums;
}

TEST(SampledRun, StandsForTheExactOne) {
  const std::vector<std::string> command = {program("tight_realloc"), "200000", "2"};
  const Sums exact = weigh(run(command).only_image());
  Sums mean;
  constexpr int kSeeds = 12;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    RunOptions options;
    options.environment = {"TARE_SAMPLE_BYTES=4096", "TARE_SAMPLE_SEED=" + std::to_string(seed)};
    const RunResult result = run(command, options);
    ASSERT_TRUE(result.exited(0));
    const SpoolImage& image = result.only_image();
    EXPECT_NE(image.header().flags.load() & trace::kSpoolSampled, 0u);
    EXPECT_EQ(image.header().sample_bytes, 4096u);
    const Replayed replayed = image.replay();
    EXPECT_EQ(replayed.impossible, 0u);
    EXPECT_EQ(replayed.unknown_frees, 0u);
    EXPECT_EQ(replayed.live.size() < 10, true) << replayed.live.size();
    const Sums sums = weigh(image);
    EXPECT_LT(sums.events * 5, exact.events);
    mean.allocs += sums.allocs / kSeeds;
    mean.requested += sums.requested / kSeeds;
  }
  EXPECT_NEAR(mean.allocs / exact.allocs, 1, 0.02);
  EXPECT_NEAR(mean.requested / exact.requested, 1, 0.02);
}

TEST(SampledRun, IsRepeatable) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=1000", "TARE_SAMPLE_SEED=5"};
  const Sums first = weigh(run({program("megabytes")}, options).only_image());
  const Sums second = weigh(run({program("megabytes")}, options).only_image());
  EXPECT_EQ(first.allocs, second.allocs);
}

TEST(SampledRun, FollowsForks) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=100", "TARE_SAMPLE_SEED=5"};
  const RunResult result = run({program("forks"), "fork"}, options);
  ASSERT_TRUE(result.exited(0));
  ASSERT_EQ(result.images.size(), 2u);
}

}  // namespace
}  // namespace tare::test
