// Sampled recordings of real runs: their weighted sums stand for the exact ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "test_launcher.h"
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

TEST(SampledRun, FollowsForks) {
  RunOptions options;
  options.environment = {"TARE_SAMPLE_BYTES=100", "TARE_SAMPLE_SEED=5"};
  const RunResult result = run({program("forks"), "fork"}, options);
  ASSERT_TRUE(result.exited(0));
  ASSERT_EQ(result.images.size(), 2u);
}

}  // namespace
}  // namespace tare::test
