// Sampled recordings of real runs: their weighted sums stand for the exact ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "test_launcher.h"
#include "trace/model/sampling_rules.h"
#include "trace/model/seen_counts.h"

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

std::vector<RawEvent> events_of_busiest_thread(const RunResult& run) {
  const std::vector<ThreadEvents> threads = run.only_image().threads();
  return std::max_element(
             threads.begin(), threads.end(),
             [](const ThreadEvents& a, const ThreadEvents& b) { return a.events.size() < b.events.size(); })
      ->events;
}

bool is_allocation(const RawEvent& event) { return event.op == trace::Op::Alloc || event.op == trace::Op::Realloc; }

// Before every sampled event stands how much came before it, so that it can be found in the exact recording.
TEST(SampledRun, CountsWhatItLeavesOut) {
  const std::vector<std::string> command = {program("tight_realloc"), "20000", "1"};
  std::vector<std::uint64_t> requested;  // by allocation of the thread
  std::vector<std::uint64_t> frees;      // before it
  std::uint64_t freed = 0;
  for (const RawEvent& event : events_of_busiest_thread(run(command))) {
    if (event.op == trace::Op::Free) ++freed;
    if (!is_allocation(event)) continue;
    requested.push_back(event.requested);
    frees.push_back(freed);
  }
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=3000", "TARE_SAMPLE_SEED=3"};
  trace::SeenCounts seen{};
  std::size_t found = 0;
  for (const RawEvent& event : events_of_busiest_thread(run(command, options))) {
    if (event.op == trace::Op::Seen) seen = trace::SeenCounts::of(event.value);
    if (!is_allocation(event)) continue;
    ASSERT_LT(seen.thread_allocations, requested.size());
    EXPECT_EQ(requested[seen.thread_allocations], event.requested) << "allocation " << seen.thread_allocations;
    EXPECT_EQ(frees[seen.thread_allocations], seen.thread_frees);
    EXPECT_GE(seen.allocations, seen.thread_allocations);        // those of the process
    EXPECT_LE(seen.allocations, seen.thread_allocations + 50u);  // its other thread only starts this one
    ++found;
  }
  EXPECT_GT(found, 100u);
  EXPECT_LT(found * 5, requested.size());
}

TEST(SampledRun, IsRepeatable) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=1000", "TARE_SAMPLE_SEED=5"};
  const Sums first = weigh(run({program("megabytes")}, options).only_image());
  const Sums second = weigh(run({program("megabytes")}, options).only_image());
  EXPECT_EQ(first.allocs, second.allocs);
}

// The recorder's cost is far beyond the share at the first distance, so that it doubles several times in each run.
TEST(SampledRun, StandsForTheExactOneWhileABudgetWidensIt) {
  const std::vector<std::string> command = {program("tight_realloc"), "100000", "2"};
  const Sums exact = weigh(run(command).only_image());
  constexpr int kSeeds = 40;
  std::vector<Sums> all;
  std::uint32_t doublings = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    RunOptions options;
    options.environment = {"TARE_SAMPLE_BYTES=256", "TARE_SAMPLE_SEED=" + std::to_string(seed)};
    options.budget.cpu_share = 0.03;
    const RunResult result = run(command, options);
    ASSERT_TRUE(result.exited(0));
    const SpoolImage& image = result.only_image();
    doublings += image.header().doublings.load();
    EXPECT_EQ(image.header().stopped_by.load(), 0u);
    EXPECT_EQ(image.header().sample_bytes, 256u);
    EXPECT_EQ(image.replay().impossible, 0u);
    all.push_back(weigh(image));
  }
  EXPECT_GE(doublings, 2u * kSeeds);
  const auto check = [&](double Sums::* sum) {  // within 5 standard errors
    double mean = 0;
    double square = 0;
    for (const Sums& sums : all) mean += sums.*sum / kSeeds;
    for (const Sums& sums : all) square += (sums.*sum - mean) * (sums.*sum - mean) / (kSeeds - 1);
    const double error = std::sqrt(square / kSeeds);
    EXPECT_LT(error, 0.1 * exact.*sum);  // it depends on the machine's speed
    EXPECT_NEAR(mean, exact.*sum, 5 * error);
  };
  check(&Sums::allocs);
  check(&Sums::requested);
}

TEST(SampledRun, StopsWhereTheBudgetsMemoryIsTooSmall) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=256", "TARE_SAMPLE_SEED=1"};
  options.budget.memory_bytes = 1 << 20;  // the set of samples alone takes more
  const RunResult result = run({program("tight_realloc"), "100000", "2"}, options);
  ASSERT_TRUE(result.exited(0));
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.header().stopped_by.load(), static_cast<std::uint32_t>(trace::SamplingLimit::Memory));
  EXPECT_GT(image.header().stopped_at_ns.load(), image.header().start_monotonic_ns);
  EXPECT_EQ(image.replay().impossible, 0u);
  EXPECT_LT(weigh(image).events, 5000u);  // of 50,000
}

TEST(SampledRun, WidensAsOftenAsTheLauncherWants) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=100", "TARE_SAMPLE_SEED=5"};
  options.budget.doublings = 4;
  const RunResult result = run({program("forks"), "fork"}, options);
  ASSERT_TRUE(result.exited(0));
  ASSERT_EQ(result.images.size(), 2u);
  for (const SpoolImage& image : result.images) EXPECT_EQ(image.header().doublings.load(), 4u);
}

TEST(SampledRun, RecordsNoProcessOnceTheDiskIsFull) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=100", "TARE_SAMPLE_SEED=5"};
  options.budget.disk_is_full = true;
  const RunResult result = run({program("forks"), "fork"}, options);
  ASSERT_TRUE(result.exited(0));
  EXPECT_TRUE(result.images.empty());
  ASSERT_FALSE(result.notices.empty());
  EXPECT_EQ(result.notices[0], "forks\nthe budget's disk space is used up");
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
