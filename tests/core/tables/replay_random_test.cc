// Random streams of events: the sums of replay equal those of a naive count.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "core/tables/replay.h"
#include "support/made_up_trace.h"

namespace tare::core {
namespace {

using trace::EventKind;

// The expected results of replay, recomputed from scratch after every event.
class Naive {
 public:
  explicit Naive(const trace::Dictionary& dictionary) : dictionary_(dictionary) {}

  void see(const trace::Event& event) {
    switch (event.kind) {
      case EventKind::Alloc:
      case EventKind::ReallocStart:
        live_[event.address] = trace::index(event.shape);
        ++total_[trace::index(event.shape)];
        break;
      case EventKind::Free:
      case EventKind::ReallocEnd:
        live_.erase(event.address);
        break;
      default:
        return;
    }
    std::uint64_t gross = 0;
    for (const auto& [address, shape] : live_) gross += dictionary_.shapes[shape].usable_bytes + 8;
    if (gross > peak_gross) {
      peak_gross = gross;
      peak_stamp = event.stamp;
      peak = live_;
    }
  }

  static std::map<std::uint32_t, std::int64_t> by_shape(const std::map<std::uint64_t, std::uint32_t>& blocks) {
    std::map<std::uint32_t, std::int64_t> counts;
    for (const auto& [address, shape] : blocks) ++counts[shape];
    return counts;
  }

  const trace::Dictionary& dictionary_;
  std::map<std::uint64_t, std::uint32_t> live_;
  std::map<std::uint32_t, std::int64_t> total_;
  std::map<std::uint64_t, std::uint32_t> peak;
  std::uint64_t peak_gross = 0;
  std::uint64_t peak_stamp = 0;
};

class RandomStreams : public testing::TestWithParam<unsigned> {};

TEST_P(RandomStreams, PeakEndAndTotalsAreThoseOfTheNaiveCount) {
  std::mt19937 random(GetParam());
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  MadeUpTrace made;
  std::vector<trace::ShapeId> shapes;
  for (std::uint64_t i = 0; i < 40; ++i) shapes.push_back(made.shape(made.stack(0x2000 + below(12)), 1 + below(600)));
  std::vector<std::uint64_t> live;
  std::vector<std::uint64_t> vacant;
  for (std::uint64_t i = 0; i < 400; ++i) {
    // crowded pages, lonely pages, 8-byte neighbours, and the far end of the address space
    const std::uint64_t bases[] = {0x555500000000, 0x7f0000000000 + i * 0x200000, 0x7e0000000008, 0x1000,
                                   0xffff00000000};
    vacant.push_back(bases[i % 5] + i * 16);
  }
  const std::uint32_t grow_bias = 40 + below(40);
  for (int i = 0; i < 3000; ++i) {
    const auto thread = static_cast<std::uint16_t>(below(3));
    made.step = below(3) * 1000;
    const bool grow = live.empty() || (!vacant.empty() && below(100) < (i / 500 % 2 ? 30 : grow_bias));
    if (grow) {
      std::swap(vacant[below(static_cast<std::uint32_t>(vacant.size()))], vacant.back());
      made.alloc(vacant.back(), shapes[below(40)], thread);
      live.push_back(vacant.back());
      vacant.pop_back();
      continue;
    }
    std::swap(live[below(static_cast<std::uint32_t>(live.size()))], live.back());
    if (below(4) == 0 && !vacant.empty()) {
      const bool in_place = below(2) == 0;
      const std::uint64_t to = in_place ? live.back() : vacant.back();
      made.realloc(live.back(), to, shapes[below(40)], thread);
      if (!in_place) std::swap(live.back(), vacant.back());
    } else {
      made.free(live.back(), thread);
      vacant.push_back(live.back());
      live.pop_back();
    }
  }

  Naive naive(made.dictionary);
  for (const trace::Event& event : made.events) naive.see(event);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "impossible_events"), 0);
  EXPECT_EQ(process_value(tables, "peak_gross_bytes"), static_cast<std::int64_t>(naive.peak_gross));
  EXPECT_EQ(process_value(tables, "peak_time_ns"), static_cast<std::int64_t>(naive.peak_stamp));
  const auto peak = Naive::by_shape(naive.peak);
  const auto end = Naive::by_shape(naive.live_);
  const Table& sizes = tables["site_sizes"];
  EXPECT_EQ(sizes.rows(), naive.total_.size());
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    const auto shape = static_cast<std::uint32_t>(sizes["size_id"].ints[row]);
    const auto count = [&](const std::map<std::uint32_t, std::int64_t>& counts) {
      const auto found = counts.find(shape);
      return found == counts.end() ? 0 : found->second;
    };
    EXPECT_EQ(sizes["peak_blocks"].ints[row], count(peak)) << "shape " << shape;
    EXPECT_EQ(sizes["end_blocks"].ints[row], count(end)) << "shape " << shape;
    EXPECT_EQ(sizes["total_blocks"].ints[row], count(naive.total_)) << "shape " << shape;
  }
  std::int64_t timeline_max = 0;
  std::int64_t timeline_allocs = 0;
  const Table& timeline = tables["timeline"];
  for (std::size_t row = 0; row < timeline.rows(); ++row) {
    timeline_max = std::max(timeline_max, timeline["max_gross_bytes"].ints[row]);
    timeline_allocs += timeline["alloc_events"].ints[row];
  }
  EXPECT_EQ(timeline_max, static_cast<std::int64_t>(naive.peak_gross));
  EXPECT_EQ(timeline_allocs, process_value(tables, "total_blocks"));
  EXPECT_EQ(timeline["gross_bytes"].ints.back(), process_value(tables, "end_gross_bytes"));
  EXPECT_EQ(timeline["blocks"].ints.back(), process_value(tables, "end_blocks"));
  const Tables looked_at = made.replay_with_looks(
      331, [](const Tables& seen, const Tables& shorter) { EXPECT_EQ(difference(seen, shorter), ""); });
  EXPECT_EQ(difference(looked_at, tables), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStreams, testing::Range(0u, 20u));

}  // namespace
}  // namespace tare::core
