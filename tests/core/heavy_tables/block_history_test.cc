// Which block was seen at a free or a moment, on made-up traces.
#include "core/heavy_tables/block_history.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "support/seen_trace.h"

namespace tare::core {
namespace {

using trace::ContentClass;

trace::Moment moment_after(std::uint64_t events, std::vector<trace::Observation> blocks) {
  trace::Moment moment;
  moment.stamp = 1000 * events;
  moment.events_before = events;
  moment.blocks = std::move(blocks);
  return moment;
}

trace::Observation seen_at(std::uint64_t address, std::uint64_t digest) {
  trace::Observation seen;
  seen.address = address;
  seen.digest = digest << 1;
  seen.content = trace::BlockContent::Text;
  seen.reach = trace::Reach::Start;
  return seen;
}

TEST(BlockHistory, HaveARowForWhatWasSeen) {
  SeenTrace trace;
  const auto shape = trace.shape(trace.stack(0x1), 100), large = trace.shape(trace.stack(0x1), 9000);
  trace.alloc(0x100, shape);
  trace.free(0x100);
  trace.brief(0x100, shape, 100);
  trace.alloc(0x100, shape);
  trace.contents(0x100, 20, ContentClass::Text);
  trace.digest(99);
  trace.free(0x100);
  trace.brief(0x1000, large, 1);
  BlockHistory history(trace.dictionary, trace.info);
  history.consume(trace.events);
  const Tables tables = history.finish();
  const Table& seen = tables["block_history"];
  ASSERT_EQ(seen.rows(), 3u);
  EXPECT_EQ(seen["block_id"].ints, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(seen["high_water_bytes"].ints, (std::vector<std::int64_t>{0, 80, 8999}));
  EXPECT_TRUE(seen["digest"].is_null(0));
  EXPECT_EQ(seen["digest"].ints[1], 99);
  EXPECT_EQ(seen["content_class"].text(0), "none");
  EXPECT_EQ(seen["content_class"].text(1), "text");
  EXPECT_TRUE(seen["content_class"].is_null(2));
  EXPECT_TRUE(seen["reachable"].is_null(0));
}

// Two blocks at one address, one after the other, and one that lives through: moments tell them apart by block_id. The
// moment written last is the earliest, as a candidate for the peak is.
TEST(BlockHistory, HaveARowForEachBlockThatLivesAtASnapshot) {
  SeenTrace trace;
  const auto shape = trace.shape(trace.stack(0x1), 100);
  trace.alloc(0x100, shape);  // block 0
  trace.alloc(0x200, shape);  // block 1
  trace.free(0x100);
  trace.alloc(0x100, shape);  // block 2
  trace.free(0x200);
  trace::Observation changed = seen_at(0x200, 12);
  changed.unchanged_ns = 300;
  changed.high_water_bytes = 60;
  trace::Observation unread;
  unread.address = 0x100;
  const std::vector<trace::ClockPair> clock{{0, 0}, {10'000, 10'000}};
  BlockHistory history(trace.dictionary, trace.info, clock,
                       {moment_after(5, {seen_at(0x100, 13), seen_at(0x200, 1)}), moment_after(4, {unread, changed}),
                        moment_after(2, {seen_at(0x100, 10), seen_at(0x200, 11), seen_at(0x300, 1)})});
  history.consume(std::span(trace.events).first(3));
  history.consume(std::span(trace.events).subspan(3));
  const Tables tables = history.finish();
  const Table& seen = tables["block_history"];
  ASSERT_EQ(seen.rows(), 5u) << "none of what isn't live then";
  EXPECT_EQ(seen["snapshot"].ints, (std::vector<std::int64_t>{3, 3, 2, 2, 1}));
  EXPECT_EQ(seen["block_id"].ints, (std::vector<std::int64_t>{0, 1, 2, 1, 2}));
  EXPECT_EQ(seen["digest"].ints[0], 10);
  EXPECT_EQ(seen["reachable"].text(0), "start");
  EXPECT_TRUE(seen["last_write_ns"].is_null(0));
  EXPECT_TRUE(seen["digest"].is_null(2)) << "not read";
  EXPECT_TRUE(seen["content_class"].is_null(2));
  EXPECT_TRUE(seen["reachable"].is_null(2));
  EXPECT_EQ(seen["digest"].ints[3], 12);
  EXPECT_EQ(seen["high_water_bytes"].ints[3], 60);
  EXPECT_EQ(seen["last_write_ns"].ints[3], 4000 - 300);
  EXPECT_EQ(seen["requested_bytes"].ints[4], 100);
}

// A moment beyond what is left of a damaged trace can't be told block by block.
TEST(BlockHistory, LeaveOutASnapshotThatTheEventsDoNotReach) {
  SeenTrace trace;
  trace.alloc(0x100, trace.shape(trace.stack(0x1), 100));
  const std::vector<trace::ClockPair> clock{{0, 0}, {10'000, 10'000}};
  BlockHistory history(trace.dictionary, trace.info, clock,
                       {moment_after(1, {seen_at(0x100, 1)}), moment_after(2, {seen_at(0x100, 1)})});
  history.consume(trace.events);
  EXPECT_EQ(history.finish()["block_history"]["snapshot"].ints, (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace tare::core
