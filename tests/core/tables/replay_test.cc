// Sums by site, the exact peak, lifetimes, impossible events and sampling weights.
#include "core/tables/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "support/made_up_trace.h"
#include "trace/model/seen_counts.h"

namespace tare::core {
namespace {

using trace::AllocApi;
using trace::EventKind;

TEST(Replay, CountsOneBlock) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  made.alloc(0x10010, made.shape(stack, 100));
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "events"), 1);
  for (const char* mode : {"peak", "end", "total"}) {
    const std::string prefix = mode;
    EXPECT_EQ(process_value(tables, (prefix + "_blocks").c_str()), 1);
    EXPECT_EQ(process_value(tables, (prefix + "_requested_bytes").c_str()), 100);
    EXPECT_EQ(process_value(tables, (prefix + "_usable_bytes").c_str()), 104);
    EXPECT_EQ(process_value(tables, (prefix + "_gross_bytes").c_str()), 112);
  }
  const Table& sizes = tables["site_sizes"];
  ASSERT_EQ(sizes.rows(), 1u);
  EXPECT_EQ(sizes["api"].text(0), "malloc");
  EXPECT_EQ(sizes["header_bytes"].ints[0], 8);
  EXPECT_EQ(sizes["stack_id"].ints[0], trace::index(stack));
  EXPECT_TRUE(sizes["at_blocks"].is_null(0));
  EXPECT_EQ(tables["process"]["program"].text(0), "made-up");
  EXPECT_TRUE(tables["process"]["at_blocks"].is_null(0));
}

// A program may write a title over its arguments, and zeros to their end.
TEST(Replay, ATitleInPlaceOfArgumentsHasNoPaddingBehindIt) {
  const auto shown = [](std::vector<std::string> words) -> std::string {
    MadeUpTrace trace;
    trace.info.command_line = std::move(words);
    return std::string(trace.replay()["process"]["command_line"].text(0));
  };
  EXPECT_EQ(shown({"redis-server *:6379", "", "", ""}), "'redis-server *:6379'");
  EXPECT_EQ(shown({"prog", "", ""}), "prog '' ''") << "arguments that are empty";
  EXPECT_EQ(shown({"", ""}), "'' ''");
  EXPECT_EQ(shown({}), "");
}

TEST(Replay, NothingRecordedGivesEmptyTables) {
  const MadeUpTrace made;
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "events"), 0);
  EXPECT_EQ(process_value(tables, "peak_blocks"), 0);
  EXPECT_EQ(tables["site_sizes"].rows(), 0u);
  EXPECT_EQ(tables["timeline"].rows(), 0u);
}

TEST(Replay, MappedBlocksOfGlibcHaveHeadersOf16) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  made.alloc(0x7f0000000010, made.shape(stack, 200'000, 204'784));  // 50 pages less 16 bytes
  EXPECT_EQ(process_value(made.replay(), "peak_gross_bytes"), 204'800);
  made.info.allocator = trace::AllocatorKind::Jemalloc;
  EXPECT_EQ(process_value(made.replay(), "peak_gross_bytes"), 204'784);
}

TEST(Replay, ReallocIsOneEventAndCountsItsFullSizeInTotals) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  made.alloc(0x10010, made.shape(stack, 24));
  made.realloc(0x10010, 0x20010, made.shape(stack, 1000, 0, 1, AllocApi::Realloc));
  made.free(0x20010);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "events"), 3);
  EXPECT_EQ(process_value(tables, "realloc_events"), 1);
  EXPECT_EQ(process_value(tables, "total_requested_bytes"), 1024);
  EXPECT_EQ(process_value(tables, "end_blocks"), 0);
  EXPECT_EQ(process_value(tables, "peak_blocks"), 1);
  EXPECT_EQ(process_value(tables, "peak_requested_bytes"), 1000);
  EXPECT_EQ(process_value(tables, "impossible_events"), 0);
}

TEST(Replay, TheFirstOfEqualMaximaIsThePeak) {
  MadeUpTrace made;
  const auto a = made.shape(made.stack(0x2000), 100);
  const auto b = made.shape(made.stack(0x3000), 100);
  made.alloc(0x10010, a);
  const auto peak_stamp = made.stamp;
  made.free(0x10010);
  made.alloc(0x10010, b);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "peak_time_ns"), static_cast<std::int64_t>(peak_stamp));
  const Table& sizes = tables["site_sizes"];
  EXPECT_EQ(sizes["peak_blocks"].ints[row_where(sizes, "size_id", trace::index(a))], 1);
  EXPECT_EQ(sizes["peak_blocks"].ints[row_where(sizes, "size_id", trace::index(b))], 0);
  EXPECT_EQ(sizes["end_blocks"].ints[row_where(sizes, "size_id", trace::index(b))], 1);
}

TEST(Replay, LifetimesAndAgeClasses) {
  MadeUpTrace made;
  const auto shape = made.shape(made.stack(0x2000), 32, 40);
  const auto filler = made.shape(made.stack(0x3000), 32, 40);
  std::uint64_t next = 0x100000;
  // A block that lives for `others` allocations, for each limit and one more.
  std::uint64_t lifetime_ticks = 0;
  for (const int others : {0, 16, 17, 64, 65, 256, 257, 65536, 65537}) {
    made.alloc(0x10010, shape);
    const auto birth = made.stamp;
    for (int i = 0; i < others; ++i) made.alloc(next += 16, filler);
    made.free(0x10010);
    lifetime_ticks += made.stamp - birth;
  }
  const Tables tables = made.replay();
  const Table& sizes = tables["site_sizes"];
  const std::size_t row = row_where(sizes, "size_id", trace::index(shape));
  EXPECT_EQ(sizes["freed_within_16"].ints[row], 2);
  EXPECT_EQ(sizes["freed_within_64"].ints[row], 2);
  EXPECT_EQ(sizes["freed_within_256"].ints[row], 2);
  EXPECT_EQ(sizes["freed_within_65536"].ints[row], 2);
  EXPECT_EQ(sizes["freed_later"].ints[row], 1);
  EXPECT_NEAR(sizes["lifetime_ns"].doubles[row], static_cast<double>(lifetime_ticks), 1.0);
  EXPECT_NEAR(sizes["byte_ns"].doubles[row], static_cast<double>(lifetime_ticks) * 48, 50.0);
}

TEST(Replay, BlocksNeverFreedLiveToTheEnd) {
  MadeUpTrace made;
  made.alloc(0x10010, made.shape(made.stack(0x2000), 24));
  made.add(EventKind::Mark, 1);
  made.add(EventKind::Mark, 2);
  const Tables tables = made.replay();
  EXPECT_NEAR(tables["site_sizes"]["lifetime_ns"].doubles[0], 512, 1.0);
}

TEST(Replay, FreesOfOlderBlocksAreNotImpossible) {
  MadeUpTrace made;
  made.free(0x10010);
  made.alloc(0x20010, made.shape(made.stack(0x2000), 24));
  made.free(0x30010);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "pre_existing_frees"), 2);
  EXPECT_EQ(process_value(tables, "impossible_events"), 0);
  EXPECT_EQ(process_value(tables, "free_events"), 2);
}

TEST(Replay, AllocOnLiveAndDoubleFreeAreImpossible) {
  MadeUpTrace made;
  const auto shape = made.shape(made.stack(0x2000), 24);
  made.alloc(0x10010, shape);
  made.alloc(0x10010, shape);  // replaces
  EXPECT_EQ(process_value(made.replay(), "end_blocks"), 1);
  made.free(0x10010);
  made.free(0x10010);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "impossible_events"), 2);
  EXPECT_EQ(process_value(tables, "pre_existing_frees"), 0);
  EXPECT_EQ(process_value(tables, "end_blocks"), 0);
}

TEST(Replay, AfterDropsNothingIsCalledImpossible) {
  MadeUpTrace made;
  const auto shape = made.shape(made.stack(0x2000), 24);
  made.alloc(0x10010, shape);
  made.add(EventKind::Dropped, 7);
  made.alloc(0x10010, shape);
  made.free(0x10010);
  made.free(0x10010);
  made.free(0x90010);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "impossible_events"), 0);
  EXPECT_EQ(process_value(tables, "pre_existing_frees"), 0);
  EXPECT_EQ(process_value(tables, "unmatched_after_drops"), 3);
  EXPECT_EQ(process_value(tables, "dropped_events"), 7);
}

TEST(Replay, AnEventOfAnUnknownShapeIsCountedAndLeftOut) {
  MadeUpTrace made;
  made.alloc(0x10010, static_cast<trace::ShapeId>(77));
  made.alloc(0x20010, trace::kNoShape);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "impossible_events"), 2);
  EXPECT_EQ(process_value(tables, "end_blocks"), 0);
}

TEST(Replay, ALiveSetAtAnyTime) {
  MadeUpTrace made;
  const auto shape = made.shape(made.stack(0x2000), 24);
  std::vector<std::uint64_t> stamps;
  for (std::uint64_t i = 0; i < 10; ++i) {
    made.alloc(0x10010 + 16 * i, shape);
    stamps.push_back(made.stamp);
  }
  for (std::uint64_t i = 0; i < 10; ++i) made.free(0x10010 + 16 * i);
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const Tables tables = made.replay({.at_ns = stamps[i] + 3, .clock_pairs = {}});
    EXPECT_EQ(process_value(tables, "at_blocks"), static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(tables["site_sizes"]["at_blocks"].ints[0], static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(process_value(tables, "peak_blocks"), 10);
  }
  EXPECT_EQ(process_value(made.replay({.at_ns = 0, .clock_pairs = {}}), "at_blocks"), 0);
  EXPECT_EQ(process_value(made.replay({.at_ns = 1'000'000'000'000, .clock_pairs = {}}), "at_blocks"), 0);
}

TEST(Replay, MappingsAreTotalled) {
  MadeUpTrace made;
  made.add(EventKind::Map, 0x7f0000000000, made.map_shape(10'000));  // three pages
  made.add(EventKind::Map, 0x7f0000100000, made.map_shape(4096));
  made.add(EventKind::Unmap, 0x7f0000001000, made.map_shape(4096, trace::MapApi::Munmap));
  made.add(EventKind::Map, 0x555500000000, made.map_shape(100, trace::MapApi::Brk));
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "mapped_peak_bytes"), 16384);
  EXPECT_EQ(process_value(tables, "mapped_end_bytes"), 12288 + 100);
  EXPECT_EQ(process_value(tables, "events"), 0);
  EXPECT_EQ(process_value(tables, "map_events"), 4);
}

TEST(Replay, TheDictionaryMayGrowBetweenBatches) {
  MadeUpTrace made;
  Replay replay(made.dictionary, made.info);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto shape = made.shape(made.stack(0x2000 + i), 24 + i);
    made.events.clear();
    made.alloc(0x10010 + i * 0x1000, shape);
    replay.consume(made.events);
  }
  EXPECT_EQ(replay.events(), 1000u);
  const Tables tables = replay.finish(made.clock());
  EXPECT_EQ(tables["site_sizes"].rows(), 1000u);
  EXPECT_EQ(process_value(tables, "peak_blocks"), 1000);
}

TEST(Replay, WeightsMultiplyEverySum) {
  MadeUpTrace made;
  made.info.sample_bytes = 1000;
  const auto stack = made.stack(0x2000);
  made.alloc(0x10010, made.shape(stack, 1, 24, 41.7));
  made.alloc(0x20010, made.shape(stack, 1000, 1000, 1.25));
  made.free(0x20010);
  made.free(0x90010);  // a block that wasn't sampled
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "total_blocks"), 43);  // 42.95
  EXPECT_EQ(process_value(tables, "peak_requested_bytes"), 1292);
  EXPECT_EQ(process_value(tables, "end_usable_bytes"), 1001);  // 1000.8
  EXPECT_EQ(process_value(tables, "end_gross_bytes"), 1334);   // 41.7 * 32
  EXPECT_EQ(process_value(tables, "pre_existing_frees"), 0);
  const Table& timeline = tables["timeline"];
  EXPECT_EQ(timeline["blocks"].ints.back(), 41);
  EXPECT_EQ(timeline["requested_bytes"].ints.back(), 41);
}

TEST(Replay, HostileNumbersDoNotOverflow) {
  MadeUpTrace made;
  made.info.sample_bytes = 1;
  const auto stack = made.stack(0x2000);
  const double weights[] = {1e300, -5, 0, std::numeric_limits<double>::quiet_NaN(), 1e15};
  std::uint64_t address = 0xfffffffffffffff0;
  for (double weight : weights) {
    made.dictionary.shapes.push_back({stack, AllocApi::Malloc, 63, 0, 0, ~0ull, ~0ull, weight});
    made.alloc(address -= 16, static_cast<trace::ShapeId>(made.dictionary.shapes.size() - 1));
  }
  made.stamp = 5;  // time goes backwards
  made.free(address);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "events"), 6);
}

TEST(Replay, TimedCallsAreSummedByStack) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  const auto small = made.shape(stack, 20);
  const auto large = made.shape(stack, 2000);
  for (const auto& [shape, ticks] : {std::pair{small, 100u}, {large, 500u}, {small, 60u}}) {
    made.alloc(0x10010, shape);
    made.add(EventKind::CallCost, ticks, shape);
    made.free(0x10010);
  }
  made.alloc(0x10010, small);
  made.alloc(0x20010, made.shape(made.stack(0x3000), 20));
  made.alloc(0x30010, small, 1);
  made.free(0x20010);
  made.free(0x10010);
  made.free(0x30010, 1);
  for (const std::uint16_t thread : {std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{2}}) {
    made.add(EventKind::CallCost, 40u + 10u * thread, trace::kNoShape, thread);  // thread 2 has freed nothing
    made.events.back().api = 1;
  }
  made.free(0x40010);  // of a block older than the recording
  made.add(EventKind::CallCost, 5000);
  made.events.back().api = 1;
  made.add(EventKind::CallCost, 1000);  // of an event that was lost
  const Tables tables = made.replay();
  const Table& costs = tables["call_costs"];
  ASSERT_EQ(costs.rows(), 1u);
  EXPECT_EQ(costs["stack_id"].ints[0], trace::index(stack));
  EXPECT_EQ(costs["calls"].ints[0], 3);
  EXPECT_NEAR(costs["ns"].doubles[0], 660, 1e-6);
  EXPECT_NEAR(costs["max_ns"].doubles[0], 500, 1e-6);
  EXPECT_EQ(costs["free_calls"].ints[0], 3);
  EXPECT_NEAR(costs["free_ns"].doubles[0], 130, 1e-6);
  EXPECT_NEAR(costs["max_free_ns"].doubles[0], 50, 1e-6);
  EXPECT_EQ(process_value(tables, "events"), 13);
}

TEST(Replay, TimedCallsAboveTheMedianCountAsTheMedian) {
  MadeUpTrace made;
  const auto often = made.shape(made.stack(0x2000), 20);
  const auto seldom = made.shape(made.stack(0x3000), 20);
  const auto call = [&](trace::ShapeId shape, std::uint64_t ticks) {
    made.alloc(0x10010, shape);
    made.add(EventKind::CallCost, ticks, shape);
    made.free(0x10010);
  };
  for (int i = 0; i < 150; ++i) call(often, 64);
  for (int i = 0; i < 50; ++i) call(often, 5000);
  call(seldom, 9000);  // a page fault, maybe
  const Tables tables = made.replay();
  const Table& costs = tables["call_costs"];
  ASSERT_EQ(costs.rows(), 2u);
  EXPECT_NEAR(costs["ns"].doubles[0], 150 * 64 + 50 * 5000, 1e-6);
  EXPECT_NEAR(costs["winsorized_ns"].doubles[0], 200 * 64, 1e-6);
  EXPECT_NEAR(costs["winsorized_ns"].doubles[1], 64, 1e-6);  // the median of all stacks' calls
  EXPECT_NEAR(costs["max_ns"].doubles[0], 5000, 1e-6);
}

TEST(Replay, FailedRequestsAreSummedByStackAndEntryPoint) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  made.alloc(0x10010, made.shape(stack, 20));
  const auto fail = [&](trace::StackId from, std::uint64_t bytes, AllocApi api, std::uint16_t thread = 0) {
    const auto shape = made.map_shape(bytes, trace::MapApi::ReportSite);
    made.dictionary.shapes.back().stack = from;
    made.add(EventKind::FailedRequest, 0, shape, thread);
    made.events.back().api = static_cast<std::uint8_t>(api);
    return made.events.back().stamp;
  };
  const std::uint64_t first = fail(stack, 5000, AllocApi::Malloc);
  fail(stack, ~0ull, AllocApi::Calloc);
  fail(stack, 1000, AllocApi::Malloc);
  const std::uint64_t last = fail(stack, 3000, AllocApi::Malloc, 3);
  fail(made.stack(0x3000), 7, static_cast<AllocApi>(200));  // of a damaged trace
  made.free(0x10010);
  const Tables tables = made.replay();
  const Table& failed = tables["failed_requests"];
  ASSERT_EQ(failed.rows(), 3u);
  const auto api = [&](std::size_t row) {
    const Column& column = failed["api"];
    return column.words[static_cast<std::size_t>(column.codes[row])];
  };
  EXPECT_EQ(api(0), "malloc");
  EXPECT_EQ(failed["stack_id"].ints[0], trace::index(stack));
  EXPECT_EQ(failed["requests"].ints[0], 3);
  EXPECT_EQ(failed["min_requested_bytes"].ints[0], 1000);
  EXPECT_EQ(failed["max_requested_bytes"].ints[0], 5000);
  EXPECT_EQ(failed["last_requested_bytes"].ints[0], 3000);
  EXPECT_EQ(failed["last_ns"].ints[0] - failed["first_ns"].ints[0], static_cast<std::int64_t>(last - first));
  EXPECT_EQ(failed["last_thread"].ints[0], 3);
  EXPECT_EQ(failed["last_number"].ints[0], 4);
  EXPECT_EQ(api(1), "calloc");
  EXPECT_EQ(failed["max_requested_bytes"].ints[1], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(api(2), "unknown");
  EXPECT_EQ(process_value(tables, "events"), 2);
  EXPECT_EQ(tables["site_sizes"].rows(), 1u);
}

// Sampled blocks' ages are in allocations that the recorder saw, not in those that it recorded or that these stand for.
TEST(Replay, AgesOfASampleAreThoseThatTheRecorderCounted) {
  MadeUpTrace made;
  made.info.sample_bytes = 1000;
  const auto shape = made.shape(made.stack(0x2000), 100, 0, 50.0);
  std::uint32_t seen = 0;
  std::uint64_t address = 0x10010;
  const auto live_for = [&](std::uint32_t others) {
    made.add(trace::EventKind::Seen, trace::SeenCounts{seen, 0, 0}.word());
    made.alloc(address, shape);
    seen += 1 + others;
    made.add(trace::EventKind::Seen, trace::SeenCounts{seen, 0, 0}.word());
    made.free(address);
    address += 0x1000;
  };
  live_for(0);
  live_for(15);
  live_for(16);
  live_for(17);
  live_for(100);
  live_for(70'000);
  const Tables tables = made.replay();
  const auto freed = [&](const char* column) { return tables["site_sizes"][column].ints.at(0); };
  EXPECT_EQ(freed("freed_within_16"), 3);
  EXPECT_EQ(freed("freed_within_64"), 1);
  EXPECT_EQ(freed("freed_within_256"), 1);
  EXPECT_EQ(freed("freed_within_65536"), 0);
  EXPECT_EQ(freed("freed_later"), 1);
}

}  // namespace
}  // namespace tare::core
