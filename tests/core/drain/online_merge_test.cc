// Events of several threads, handed over in pieces with watermarks, come out once each and in order; late ones are
// noticed.
#include "core/drain/online_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tare::core {
namespace {

using trace::Event;

struct Collector : trace::EventSink {
  void consume(std::span<const Event> events) override { all.insert(all.end(), events.begin(), events.end()); }
  std::vector<Event> all;
};

Event at(std::uint64_t stamp, std::uint32_t thread) {
  return {stamp, stamp, trace::kNoShape, static_cast<std::uint16_t>(thread), trace::EventKind::Mark, 0};
}

TEST(OnlineMerge, OneThreadGoesStraightThrough) {
  Collector sink;
  OnlineMerge merge(sink);
  const Event events[] = {at(1, 0), at(2, 0)};
  merge.append(0, events);
  EXPECT_EQ(sink.all.size(), 2u);
}

TEST(OnlineMerge, AnAnnouncedThreadHoldsBackWhatMayComeBeforeIt) {
  Collector sink;
  OnlineMerge merge(sink);
  merge.expect_threads();
  const Event first[] = {at(10, 0), at(20, 0)};
  merge.append(0, first);
  merge.set_watermark(0, 15);
  merge.advance(OnlineMerge::kEnded);
  EXPECT_EQ(sink.all.size(), 1u);
  const Event second[] = {at(17, 1)};
  merge.append(1, second);
  merge.set_watermark(0, 100);
  merge.advance(OnlineMerge::kEnded);
  EXPECT_EQ(sink.all.size(), 1u);  // thread 1 may still say 18
  merge.set_watermark(1, OnlineMerge::kEnded);
  merge.advance(OnlineMerge::kEnded);
  EXPECT_EQ(sink.all.size(), 3u);
  EXPECT_TRUE(merge.sound());
}

TEST(OnlineMerge, NothingBeyondTheCeiling) {
  Collector sink;
  OnlineMerge merge(sink);
  merge.expect_threads();
  merge.set_ceiling(20);
  const Event events[] = {at(10, 0), at(19, 0), at(20, 0), at(30, 0)};
  merge.append(0, events);
  merge.set_watermark(0, 40);
  merge.advance(OnlineMerge::kEnded);
  EXPECT_EQ(sink.all.size(), 2u);
  merge.set_ceiling(OnlineMerge::kEnded);
  merge.advance(OnlineMerge::kEnded);
  EXPECT_EQ(sink.all.size(), 4u);
  EXPECT_TRUE(merge.sound());
}

TEST(OnlineMerge, AThreadNotHeardOfYetMayStampBeforeOthersWatermarks) {
  Collector sink;
  OnlineMerge merge(sink);
  merge.expect_threads();
  const Event first[] = {at(10, 0), at(20, 0), at(30, 0)};
  merge.append(0, first);
  merge.set_watermark(0, 30);
  merge.advance(15);
  EXPECT_EQ(sink.all.size(), 1u);
  const Event newcomer[] = {at(16, 1)};
  merge.append(1, newcomer);
  merge.set_watermark(1, OnlineMerge::kEnded);
  merge.advance(40);
  EXPECT_EQ(sink.all.size(), 3u);
  EXPECT_TRUE(merge.sound());
  EXPECT_EQ(sink.all[1].thread, 1u);
}

TEST(OnlineMerge, LateEventsAreNoticed) {
  Collector sink;
  OnlineMerge merge(sink);
  const Event first[] = {at(10, 0)};
  merge.append(0, first);
  const Event late[] = {at(9, 1), at(11, 1)};
  merge.append(1, late);
  EXPECT_EQ(merge.late_events(), 1u);
  EXPECT_FALSE(merge.sound());
}

TEST(OnlineMerge, RandomPiecesComeOutInOrder) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const std::uint32_t threads = 1 + static_cast<std::uint32_t>(random() % 6);
    std::vector<std::vector<Event>> streams(threads);
    std::vector<Event> expected;
    for (std::uint64_t stamp = 1; stamp < 3000; stamp += random() % 2) {
      const std::uint32_t thread = static_cast<std::uint32_t>(random() % threads);
      streams[thread].push_back(at(stamp, thread));
      expected.push_back(streams[thread].back());
    }
    std::stable_sort(expected.begin(), expected.end(), [](const Event& a, const Event& b) {
      return a.stamp != b.stamp ? a.stamp < b.stamp : a.thread < b.thread;
    });
    Collector sink;
    OnlineMerge merge(sink);
    for (std::uint32_t thread = 0; thread < threads; ++thread) merge.append(thread, {});
    std::vector<std::size_t> done(threads);
    for (std::uint64_t now = 100; now < 3200; now += 100) {
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        const std::vector<Event>& stream = streams[thread];
        std::size_t end = done[thread];
        while (end < stream.size() && stream[end].stamp < now) ++end;
        if (random() % 4 == 0) continue;  // this one lags
        merge.append(thread, {stream.data() + done[thread], end - done[thread]});
        done[thread] = end;
        merge.set_watermark(thread, now);
      }
      merge.advance(now);
    }
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      merge.append(thread, {streams[thread].data() + done[thread], streams[thread].size() - done[thread]});
    }
    merge.finish();
    ASSERT_TRUE(merge.sound());
    ASSERT_EQ(sink.all.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(sink.all[i].stamp, expected[i].stamp);
      ASSERT_EQ(sink.all[i].thread, expected[i].thread);
    }
  }
}

// A number is used again when its thread is over.
TEST(OnlineMerge, GoesOnWithANumberWhoseThreadHasEnded) {
  Collector sink;
  OnlineMerge merge(sink);
  merge.expect_threads();
  merge.append(0, std::vector<Event>{at(10, 0), at(20, 0)});
  merge.append(1, std::vector<Event>{at(15, 1)});
  merge.set_watermark(0, 20);
  merge.set_watermark(1, OnlineMerge::kEnded);
  merge.append(1, std::vector<Event>{at(30, 1), at(40, 1)});
  merge.append(0, std::vector<Event>{at(50, 0)});
  merge.set_watermark(0, 60);
  merge.advance(60);
  EXPECT_EQ(sink.all.size(), 3u);  // the second's next may be at 30, too
  merge.set_watermark(1, 60);
  merge.advance(60);
  ASSERT_EQ(sink.all.size(), 6u);
  EXPECT_EQ(sink.all[4].stamp, 40u);
  EXPECT_TRUE(merge.sound());
}

}  // namespace
}  // namespace tare::core
