// A thread's pending events: which lie before a stamp, which a block of the file takes, and up to where all are known.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/thread_streams.h"

#include <gtest/gtest.h>

#include "core/drain/online_merge.h"
#include "trace/base/clock_ns.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;

Event at(std::uint64_t stamp, EventKind kind = EventKind::Mark) { return {stamp, 0, trace::kNoShape, 0, kind, 0}; }

ThreadStream with(std::initializer_list<Event> events) {
  ThreadStream stream;
  for (const Event& event : events) stream.packer.pending.push_back(event);
  if (events.size() > 0) stream.packer.decode.last_stamp = (events.end() - 1)->stamp;
  return stream;
}

TEST(ThreadStream, EventsBeforeAStamp) {
  const trace::Dictionary dictionary;
  const ThreadStream stream = with({at(10), at(20), at(20), at(30)});
  EXPECT_EQ(stream.events_before(10, dictionary), 0u);
  EXPECT_EQ(stream.events_before(20, dictionary), 1u);
  EXPECT_EQ(stream.events_before(21, dictionary), 3u);
  EXPECT_EQ(stream.events_before(31, dictionary), 4u);
}

TEST(ThreadStream, AnEventThatBelongsToTheNextStaysWithIt) {
  const trace::Dictionary dictionary;
  const ThreadStream stream = with({at(10), at(20, EventKind::ReallocEnd), at(30)});
  EXPECT_EQ(stream.events_before(30, dictionary), 1u);
  EXPECT_EQ(stream.events_before(31, dictionary), 3u);
}

TEST(ThreadStream, ABlockEndsBetweenEventsThatBelongTogether) {
  const trace::Dictionary dictionary;
  ThreadStream stream;
  for (std::size_t i = 0; i < trace::kBlockEvents; ++i) stream.packer.pending.push_back(at(i));
  stream.packer.pending[trace::kBlockEvents - 1].kind = EventKind::ReallocEnd;
  stream.packer.pending.push_back(at(trace::kBlockEvents));
  EXPECT_EQ(stream.events_of_block(7, dictionary), 7u);
  EXPECT_EQ(stream.events_of_block(trace::kBlockEvents + 1, dictionary), trace::kBlockEvents - 1);
}

TEST(ThreadStream, ItsEventsAreKnownUpToTheLastOneOrAsFarAsItIsIdle) {
  ThreadStream stream = with({at(10)});
  EXPECT_EQ(stream.watermark(50), 50u);  // no chunk is open: its next stamp is later than now
  stream.queue.push_back({0, 0});
  EXPECT_EQ(stream.watermark(50), 10u);  // not begun: its events may be older
  stream.in_chunk = true;
  EXPECT_EQ(stream.watermark(50), 10u);  // inside a hook
  stream.idle = true;
  EXPECT_EQ(stream.watermark(50), 50u);
  stream.queue.clear();
  stream.waits_since_ns = trace::monotonic_ns();
  EXPECT_TRUE(stream.is_waiting_for_chunk());
  EXPECT_EQ(stream.watermark(50), 10u);
  stream.waits_since_ns = 1;  // so long ago that its hook has dropped the event
  EXPECT_FALSE(stream.is_waiting_for_chunk());
  stream.over = true;
  EXPECT_EQ(stream.watermark(50), OnlineMerge::kEnded);
}

}  // namespace
}  // namespace tare::core
