// A watch file written by threads, and read meanwhile.
#include "recorder/watch/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/events/own_cost.h"
#include "recorder/events/sampling.h"
#include "recorder/watch/sample_index.h"
#include "trace/spool/spool_event.h"
#include "trace/watch/watch_file.h"

namespace tare::recorder {
namespace {

// Every block is sampled, whatever weight a test gives it.
constexpr std::uint64_t kEveryByte = 1;

// A watch file in a folder of its own, with a valid header.
class Watched {
 public:
  explicit Watched(std::uint64_t sample_bytes, const Budget& budget = {}) {
    watch_->set_budget(budget);
    char name[] = "/tmp/tare-watch-XXXXXX";
    folder_ = ::mkdtemp(name);
    EXPECT_TRUE(sampler.prepare(sample_bytes, 1));
    EXPECT_EQ(spool_->create_watched(folder_.c_str()), 0);
    trace::SpoolHeader& header = *spool_->header();
    std::memcpy(header.magic, trace::kWatchMagic, sizeof(header.magic));
    header.version = trace::kWatchVersion;
    header.header_bytes = sizeof(trace::SpoolHeader);
    header.start_stamp = stamp();
    EXPECT_TRUE(watch_->begin(*spool_, nullptr));
    EXPECT_EQ(spool_->publish_numbered(7, trace::kWatchSuffix), 0);
  }
  ~Watched() {
    spool_->discard();
    std::filesystem::remove_all(folder_);
  }

  // A sampled block of `bytes`, made on a stack of these rows.
  void begin(std::uint64_t address, std::uint64_t bytes, double weight, std::uint32_t leaf, std::uint32_t thread = 0) {
    sampler.sampled.insert(address, 0);
    using trace::W0;
    const std::uint64_t words[] = {
        static_cast<std::uint64_t>(trace::Op::Alloc) | W0::kStamped | std::uint64_t{3} << W0::kFreshShift,
        address | trace::W1::kWeighted,
        bytes,
        __builtin_bit_cast(std::uint64_t, weight),
        stamp(),
        leaf | std::uint64_t{1} << 32,
        0};
    const sys::SignalsBlocked blocked;
    watch_->apply(words, words + 7, thread);
  }
  void end(std::uint64_t address) {
    if (!sampler.sampled.remove(address)) return;
    const std::uint64_t word = static_cast<std::uint64_t>(trace::Op::Free) | address << trace::F0::kAddressShift;
    const sys::SignalsBlocked blocked;
    watch_->apply(&word, &word + 1, 0);
  }
  // A realloc, as words with stamps.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, double weight, std::uint64_t before) {
    sampler.sampled.remove(from);
    sampler.sampled.insert(to, 0);
    using trace::W0;
    const std::uint64_t words[] = {
        static_cast<std::uint64_t>(trace::Op::Realloc) | W0::kStamped | std::uint64_t{1} << W0::kFreshShift,
        to | trace::W1::kWeighted,
        bytes,
        __builtin_bit_cast(std::uint64_t, weight),
        before,
        stamp(),
        from,
        4};
    const sys::SignalsBlocked blocked;
    watch_->apply(words, words + 8, 0);
  }

  trace::WatchedProcess read() const {
    auto process = trace::read_watch_file(spool_->path());
    EXPECT_TRUE(process) << (process ? "" : process.error().message);
    return process ? *std::move(process) : trace::WatchedProcess{};
  }
  Watch& watch() { return *watch_; }
  Spool& spool() { return *spool_; }

 private:
  std::string folder_;
  std::unique_ptr<Spool> spool_ = std::make_unique<Spool>();
  std::unique_ptr<Watch> watch_ = std::make_unique<Watch>();
};

TEST(Watch, KeepsLiveSamplesAndSumsByStack) {
  Watched watched(kEveryByte);
  watched.begin(0x1000, 100, 10, 5);
  watched.begin(0x2000, 200, 5, 5);
  watched.begin(0x3000, 300, 4, 6);
  watched.end(0x2000);
  watched.end(0x9000);  // never seen
  const trace::WatchedProcess process = watched.read();
  ASSERT_EQ(process.samples.size(), 2u);
  EXPECT_EQ(process.samples[0].address, 0x1000u);
  EXPECT_EQ(process.samples[1].address, 0x3000u);
  EXPECT_EQ(process.live_bytes(), 1000 + 1200);
  EXPECT_EQ(process.live_blocks(), 14);
  EXPECT_DOUBLE_EQ(process.live_bytes_error(), std::sqrt(100.0 * 100 * 10 * 9 + 300.0 * 300 * 4 * 3));
  EXPECT_EQ(process.totals.allocated_bytes, 1000 + 1000 + 1200);
  EXPECT_EQ(process.totals.freed_bytes, 1000);
  ASSERT_EQ(process.nodes.size(), 4u);  // two outer frames are shared
  ASSERT_EQ(process.sums.size(), 3u);   // the first is for stacks without room
  EXPECT_EQ(process.sums[1].node, process.samples[0].node);
  EXPECT_EQ(process.sums[1].allocated_bytes, 2000);
  EXPECT_EQ(process.sums[1].freed_bytes, 1000);
  EXPECT_EQ(process.sums[2].allocated_bytes, 1200);
}

TEST(Watch, ABlockInTheSamePlaceEndsTheOneBefore) {
  Watched watched(kEveryByte);
  watched.begin(0x1000, 100, 10, 5);
  watched.begin(0x1000, 200, 5, 6);
  const trace::WatchedProcess process = watched.read();
  ASSERT_EQ(process.samples.size(), 1u);
  EXPECT_EQ(process.samples[0].usable, 200u);
  EXPECT_EQ(process.totals.freed_blocks, 10);
}

TEST(Watch, RestsAndGoesOn) {
  Watched watched(kEveryByte);
  watched.begin(0x1000, 100, 10, 5);
  watched.begin(0x2000, 200, 5, 5);
  watched.watch().rest();
  watched.begin(0x3000, 300, 4, 6);  // of a hook that began before
  EXPECT_EQ(watched.read().samples.size(), 2u);

  sampler.sampled.remove(0x1000);
  watched.watch().end_resting(0x1000, stamp());
  sampler.sampled.insert(0x4000, 0);
  const std::uint64_t event[] = {static_cast<std::uint64_t>(trace::Op::Alloc), 0x4000 | trace::W1::kWeighted, 400,
                                 __builtin_bit_cast(std::uint64_t, 3.0)};
  {
    const sys::SignalsBlocked blocked;
    watched.watch().apply_resting(event);
  }
  const trace::WatchedProcess resting = watched.read();
  ASSERT_EQ(resting.samples.size(), 2u);
  EXPECT_EQ(resting.totals.stop, static_cast<std::uint32_t>(trace::WatchStop::Resting));
  EXPECT_EQ(resting.totals.live_samples, 2u);
  EXPECT_EQ(resting.live_bytes(), 1000 + 1200);
  EXPECT_EQ(resting.samples[1].address, 0x4000u);
  EXPECT_EQ(resting.samples[1].node, 0u);
  EXPECT_NE(resting.samples[1].traits & trace::kWatchResting, 0u);

  EXPECT_TRUE(watched.watch().resume());
  EXPECT_FALSE(watched.watch().resume());
  watched.end(0x4000);
  watched.begin(0x5000, 500, 2, 6);
  const trace::WatchedProcess process = watched.read();
  EXPECT_EQ(process.totals.stop, 0u);
  EXPECT_EQ(process.live_bytes(), 1000 + 1000);
}

TEST(Watch, AnEndOfARestLeavesAYoungerBlock) {
  Watched watched(kEveryByte);
  watched.begin(0x1000, 100, 10, 5);
  watched.watch().rest();
  const std::uint64_t before = stamp();
  sampler.sampled.insert(0x1000, 0);  // another thread's block, while the realloc of the first is under way
  const std::uint64_t event[] = {static_cast<std::uint64_t>(trace::Op::Alloc), 0x1000 | trace::W1::kWeighted, 700,
                                 __builtin_bit_cast(std::uint64_t, 1.0)};
  {
    const sys::SignalsBlocked blocked;
    watched.watch().apply_resting(event);
  }
  watched.watch().end_resting(0x1000, before);
  const trace::WatchedProcess process = watched.read();
  ASSERT_EQ(process.samples.size(), 1u);
  EXPECT_EQ(process.samples[0].usable, 700u);
}

TEST(Watch, AStoppedWatchDoesNotGoOn) {
  Watched watched(kEveryByte);
  watched.watch().rest();
  watched.watch().stop(trace::WatchStop::Recorded);
  EXPECT_FALSE(watched.watch().resume());
  EXPECT_EQ(watched.read().totals.stop, static_cast<std::uint32_t>(trace::WatchStop::Recorded));
}

TEST(Watch, AReallocLeavesTheBlockThatCameToItsOldPlace) {
  Watched watched(kEveryByte);
  watched.begin(0x1000, 100, 10, 5);
  const std::uint64_t before = stamp();
  watched.begin(0x1000, 300, 4, 6);  // another thread's, while realloc was under way
  watched.move(0x1000, 0x2000, 150, 7, before);
  std::set<std::uint64_t> sizes;
  for (const trace::WatchSample& sample : watched.read().samples) sizes.insert(sample.usable);
  EXPECT_EQ(sizes, (std::set<std::uint64_t>{150, 300}));
}

TEST(Watch, ABlockThatIsGoneBeforeItsEventIsNotLive) {
  Watched watched(kEveryByte);
  using trace::W0;
  const std::uint64_t words[] = {static_cast<std::uint64_t>(trace::Op::Alloc), 0x5000, 64};
  {
    const sys::SignalsBlocked blocked;
    watched.watch().apply(words, words + 3, 0);  // isn't in the set of sampled blocks
  }
  const trace::WatchedProcess process = watched.read();
  EXPECT_TRUE(process.samples.empty());
  EXPECT_EQ(process.totals.allocated_bytes, 64);
  EXPECT_EQ(process.totals.freed_bytes, 64);
}

TEST(Watch, TheDistanceDoublesAndSumsStay) {
  constexpr std::uint64_t kBlocks = 60'000;
  constexpr std::uint64_t kBytes = 100;
  Watched watched(64);
  const double weight = sampler.thin(1, Sampler::octave(kBytes), 1e-9);
  for (std::uint64_t i = 1; i <= kBlocks; ++i)
    watched.begin(i << 8, kBytes, weight, static_cast<std::uint32_t>(i % 10));
  const trace::WatchedProcess process = watched.read();
  EXPECT_LE(process.samples.size(), trace::kWatchMaxSamples);
  EXPECT_GT(process.samples.size(), trace::kWatchMaxSamples / 3);
  EXPECT_EQ(process.totals.stop, 0u);
  EXPECT_EQ(process.first_sample_bytes, 64u);
  EXPECT_GT(process.totals.sample_bytes, 64u);
  EXPECT_EQ(process.totals.sample_bytes, 64u << process.totals.widened);
  const double expected = static_cast<double>(kBlocks * kBytes) * weight;
  EXPECT_NEAR(process.live_bytes(), expected, 4 * process.live_bytes_error());
  EXPECT_NEAR(process.totals.allocated_bytes / expected, 1, 1e-9);
  // The ones that went aren't followed any more.
  std::uint64_t followed = 0;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) followed += sampler.sampled.holds(i << 8);
  EXPECT_EQ(followed, process.samples.size());
}

TEST(Watch, TheFileStaysWithinItsBudget) {
  constexpr std::uint64_t kBlocks = 60'000;
  constexpr std::uint64_t kBytes = 100;
  constexpr std::uint64_t kMostBytes = 256 << 10;
  Watched watched(64, Budget{0, 0, kMostBytes});
  const double weight = sampler.thin(1, Sampler::octave(kBytes), 1e-9);
  for (std::uint64_t i = 1; i <= kBlocks; ++i)
    watched.begin(i << 8, kBytes, weight, static_cast<std::uint32_t>(i % 10));
  const trace::WatchedProcess process = watched.read();
  EXPECT_EQ(process.totals.stop, 0u);
  EXPECT_GE(process.totals.widened, 3u);
  EXPECT_LE(watched.spool().file_bytes(), kMostBytes);
  EXPECT_GT(process.samples.size(), 100u);
  EXPECT_EQ(process.budget.disk_bytes, kMostBytes);
  EXPECT_NEAR(process.live_bytes(), static_cast<double>(kBlocks * kBytes) * weight, 4 * process.live_bytes_error());
}

TEST(Watch, ARecorderThatNeedsMoreMemoryThanItsBudgetStops) {
  Watched watched(kEveryByte, Budget{0, 64 << 10, 0});
  for (std::uint64_t i = 1; i <= 1000; ++i) watched.begin(i << 12, 100, 3, static_cast<std::uint32_t>(i));
  const trace::WatchedProcess process = watched.read();
  EXPECT_EQ(trace::stop_reason(process.totals.stop),
            "the budget's memory can't be kept at any distance between samples");
  EXPECT_EQ(process.samples.size(), 32u);  // of the first look
  EXPECT_GT(process.budget.recorder_bytes, 64u << 10);
}

TEST(Watch, AShareThatNoDistanceKeepsStopsIt) {
  Watched watched(kEveryByte, Budget{1e-8, 0, 0});
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    own_cost.add(1'000'000, 0);
    watched.begin(i << 12, 100, 3, static_cast<std::uint32_t>(i));
  }
  const trace::WatchedProcess process = watched.read();
  EXPECT_EQ(trace::stop_reason(process.totals.stop),
            "the budget's CPU share can't be kept at any distance between samples");
  EXPECT_EQ(process.totals.widened, 23u);
  EXPECT_EQ(process.totals.sample_bytes, kEveryByte << 23);
  EXPECT_GT(process.budget.recorder_ns, 0u);
  EXPECT_GT(process.budget.process_ns, 0u);
}

TEST(Watch, ThreadsWriteWhileAnotherReads) {
  constexpr std::uint64_t kThreads = 4;
  Watched watched(kEveryByte);
  std::atomic<std::uint64_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t address = (t << 32) + ((i % 500) << 6) + 64;
        if (i >= 500) watched.end(address);
        watched.begin(address, 48, 2, static_cast<std::uint32_t>(t * 100 + i % 100), static_cast<std::uint32_t>(t));
      }
      --running;
    });
  }
  while (running != 0) {
    const trace::WatchedProcess process = watched.read();
    EXPECT_LE(process.samples.size(), kThreads * 500 + kThreads);
    for (const trace::WatchSample& sample : process.samples) EXPECT_EQ(sample.usable, 48u);
  }
  for (std::thread& thread : threads) thread.join();
  const trace::WatchedProcess process = watched.read();
  EXPECT_EQ(process.samples.size(), kThreads * 500);
  EXPECT_EQ(process.totals.allocated_blocks, kThreads * 3000 * 2);
  EXPECT_EQ(process.totals.freed_blocks, kThreads * 2500 * 2);
  EXPECT_EQ(process.totals.lost_events, 0u);
}

TEST(Watch, AChildBeginsWithTheSamplesOfTheFork) {
  Watched watched(kEveryByte);
  for (std::uint64_t i = 1; i <= 100; ++i) watched.begin(i << 12, 100, 3, static_cast<std::uint32_t>(i));
  watched.end(5 << 12);
  auto child = std::make_unique<Spool>();
  const std::string folder = std::filesystem::path(watched.spool().path()).parent_path();
  ASSERT_EQ(child->create_watched(folder.c_str()), 0);
  trace::SpoolHeader& header = *child->header();
  std::memcpy(static_cast<void*>(&header), watched.spool().header(), sizeof(header));
  watched.watch().become_child();
  ASSERT_TRUE(watched.watch().begin(*child, &watched.spool()));
  watched.end(6 << 12);
  watched.begin(1 << 30, 50, 2, 3);
  const auto process = trace::read_watch_file(child->path());
  ASSERT_TRUE(process);
  EXPECT_EQ(process->samples.size(), 99u);
  EXPECT_EQ(process->inherited(), 98u);
  EXPECT_EQ(process->totals.allocated_bytes, 100);
  EXPECT_EQ(process->totals.freed_bytes, 0);  // the block was its parent's
  EXPECT_EQ(watched.read().samples.size(), 99u);
  child->discard();
}

TEST(Watch, TornEntriesAreLeftOut) {
  Watched watched(kEveryByte);
  for (std::uint64_t i = 1; i <= 10; ++i) watched.begin(i << 12, 100, 3, 1);
  auto* const samples = reinterpret_cast<trace::WatchSample*>(watched.spool().base(WatchArea::Samples));
  samples[3].usable = 7;
  auto* const state = reinterpret_cast<trace::WatchState*>(watched.spool().base(WatchArea::State));
  const std::uint64_t serial = watched.read().totals.serial;
  state->totals[serial % 2].freed_bytes = 99;  // as if the process was killed while it wrote them
  state->sequence.fetch_add(1);
  const trace::WatchedProcess process = watched.read();
  EXPECT_EQ(process.samples.size(), 9u);
  EXPECT_EQ(process.totals.serial, serial - 1);
}

TEST(SampleIndex, FindsWhatIsThere) {
  auto index = std::make_unique<SampleIndex>();
  std::vector<trace::WatchSample> samples(trace::kWatchMaxSamples);
  std::uint64_t random = 1;
  const auto next = [&random] { return (random = random * 6364136223846793005 + 1442695040888963407) >> 33; };
  std::vector<std::uint64_t> placed(samples.size());
  for (int step = 0; step < 400'000; ++step) {
    const auto slot = static_cast<std::uint32_t>(next() % samples.size());
    if (samples[slot].address != 0) {
      ASSERT_EQ(index->find(samples.data(), samples[slot].address), slot);
      index->remove(samples.data(), slot);
      ASSERT_EQ(index->find(samples.data(), samples[slot].address), SampleIndex::kNone);
      samples[slot].address = 0;
    } else {
      samples[slot].address = (next() << 20 | std::uint64_t{slot} << 4) + 16;  // unique
      index->insert(samples[slot].address, slot);
    }
  }
  for (std::uint32_t slot = 0; slot < samples.size(); ++slot) {
    if (samples[slot].address == 0) continue;
    ASSERT_EQ(index->find(samples.data(), samples[slot].address), slot);
  }
}

}  // namespace
}  // namespace tare::recorder
