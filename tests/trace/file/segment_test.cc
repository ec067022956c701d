// A segment of a recording: what it begins with, and counts that no file may claim.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/temp_dir.h"
#include "trace/base/segment_names.h"
#include "trace/file/dictionary_codec.h"
#include "trace/file/process_codec.h"
#include "trace/file/trace_writer.h"
#include "trace/open/open_trace.h"
#include "trace/spool/spool_layout.h"

namespace tare::test {
namespace {

using trace::LivePart;
using trace::LiveSet;

LiveSet some_blocks() {
  LiveSet live;
  live.dictionary.modules.push_back({0x1000, 0x1000, 0x9000, "/bin/app", {1, 2}, 0});
  live.dictionary.rows = {0x2000, 0x2010};
  live.dictionary.stacks.push_back({trace::kEmptyStack, trace::RowId{0}});
  live.dictionary.stacks.push_back({trace::kEmptyStack, trace::RowId{1}});
  live.dictionary.shapes.push_back({trace::StackId{1}, trace::AllocApi::Malloc, 0, 0, 0, 24, 24, 1});
  live.dictionary.shapes.push_back({trace::StackId{0}, trace::AllocApi::Malloc, 0, 0, 0, 100, 104, 2.5});
  for (std::uint64_t i = 0; i < 3000; ++i)
    live.blocks.push_back({0x10000 + i * 48, static_cast<trace::ShapeId>(i % 2)});
  live.mappings = {{0x7000, 0x9000}, {0x9000, 0xa000}};
  return live;
}

trace::ProcessRecord second_segment() {
  trace::ProcessRecord record;
  record.info.pid = 42;
  record.info.segment = {2, 5000, true, {}, {{0, 7, 4990}, {3, 1, 4000}}};
  record.info.segment->before.total_blocks = 12;
  record.info.segment->before.dropped_events = 1;
  return record;
}

TEST(Segment, BeginsWithWhatLived) {
  const TempDir dir;
  {
    auto writer = trace::TraceWriter::create(dir / "t.tare");
    ASSERT_TRUE(writer);
    writer->put_process(second_segment());
    writer->put_live(some_blocks());
    writer->put_end(second_segment());
    ASSERT_TRUE(writer->flush());
  }
  const auto opened = trace::open_trace(dir / "t.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->complete());
  const LiveSet& live = opened->live_before();
  ASSERT_EQ(live.blocks.size(), 3000u);
  EXPECT_EQ(live.blocks[2999].address, 0x10000 + 2999 * 48);
  EXPECT_EQ(trace::index(live.blocks[2999].shape), 1u);
  EXPECT_EQ(live.dictionary.shapes[1].weight, 2.5);
  EXPECT_EQ(live.dictionary.modules[0].path, "/bin/app");
  ASSERT_EQ(live.mappings.size(), 2u);
  EXPECT_EQ(live.mappings[1].start, 0x9000u);
  EXPECT_TRUE(opened->dictionary().shapes.empty());
  const trace::Segment& segment = *opened->info().segment;
  EXPECT_EQ(segment.number, 2u);
  EXPECT_EQ(segment.stamp, 5000u);
  EXPECT_TRUE(segment.continued);
  EXPECT_EQ(segment.before, second_segment().info.segment->before);
  EXPECT_EQ(segment.positions, second_segment().info.segment->positions);
}

TEST(Segment, PositionsThatCannotBeAreLeftOut) {
  trace::ProcessRecord record = second_segment();
  record.info.segment->positions = {{5, 1, 1}, {5, 2, 2}, {4, 3, 3}, {trace::kMaxThreads, 4, 4}, {6, 5, 5}};
  trace::ByteWriter bytes;
  trace::encode_process(record, bytes);
  trace::ProcessRecord read;
  ASSERT_TRUE(trace::decode_process(bytes.bytes(), read));
  EXPECT_EQ(read.info.segment->positions, (std::vector<trace::ThreadPosition>{{5, 1, 1}, {6, 5, 5}}));
}

// The result of decode_live() for one payload, after the parts before it.
const char* verdict(LivePart part, const std::vector<std::uint64_t>& header, const std::vector<std::uint8_t>& entries,
                    std::uint64_t budget_bytes = ~std::uint64_t{0}) {
  LiveSet live = some_blocks();
  live.blocks.clear();
  live.mappings.clear();
  trace::ByteWriter payload;
  payload.byte(static_cast<std::uint8_t>(part));
  for (const std::uint64_t number : header) payload.varint(number);
  payload.append(entries);
  trace::ExpansionBudget most(budget_bytes);
  return trace::decode_live(payload.bytes(), most, live);
}

TEST(Segment, HostileCountsAreRefused) {
  EXPECT_EQ(verdict(LivePart::Blocks, {0, 1, 2}, {16, 0}), nullptr);
  EXPECT_STREQ(verdict(LivePart::Blocks, {0, 1, 2}, {16, 4}), "a live block refers to a shape that doesn't exist");
  EXPECT_STREQ(verdict(LivePart::Blocks, {0, 1, 2}, {16, 1}), "a live block refers to a shape that doesn't exist");
  EXPECT_NE(verdict(LivePart::Blocks, {0, 1u << 30, 2}, {16, 0}), nullptr);
  EXPECT_NE(verdict(LivePart::Blocks, {1, 1, 2}, {16, 0}), nullptr);
  EXPECT_NE(verdict(LivePart::Blocks, {0, 2, 2}, {16, 0}), nullptr);
  EXPECT_NE(verdict(LivePart::Blocks, {0, 1, 1ull << 40}, {16, 0}), nullptr);
  EXPECT_STREQ(verdict(LivePart::Blocks, {0, 1, 2}, {16, 0}, 10), trace::kExpandsTooFar);
  EXPECT_STREQ(verdict(LivePart::Mappings, {0, 1, 11}, {16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
               "a mapping reaches beyond the address space");
  EXPECT_STREQ(verdict(static_cast<LivePart>(9), {0, 0, 0}, {}), "a record of live blocks has an unknown part");
  LiveSet live;
  trace::ExpansionBudget most(1000);
  EXPECT_STREQ(trace::decode_live({}, most, live), "a record of live blocks is empty");
}

TEST(Segment, AFullDiskMayGetRoom) {
  auto writer = trace::TraceWriter::create("/dev/null");
  ASSERT_TRUE(writer);
  trace::TraceWriter full = trace::TraceWriter::in_memory("/dev/full");
  int asked = 0;
  full.on_full_disk([&] { return ++asked < 3; });
  full.put_process(second_segment());
  const Status status = full.spill();
  EXPECT_FALSE(status);
  EXPECT_EQ(asked, 3);
}

TEST(Segment, Names) {
  EXPECT_EQ(trace::segment_path("a.tare", 12), "a.tare.s12");
  EXPECT_EQ(trace::segment_base("a.tare.s12"), "a.tare");
  EXPECT_EQ(trace::segment_base("a.tare.s"), "a.tare.s");
  EXPECT_EQ(trace::segment_base("a.tare.12"), "a.tare.12");
  EXPECT_EQ(trace::segment_base(".s1"), ".s1");
}

}  // namespace
}  // namespace tare::test
