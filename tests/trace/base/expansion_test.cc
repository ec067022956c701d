// Small files that would make much memory: refused at a limit for the whole file, which what we write keeps to.
#include "trace/base/expansion.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>

#include "lib/support/sanitized.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/dictionary_codec.h"
#include "trace/file/event_block.h"
#include "trace/file/moment_codec.h"
#include "trace/file/record.h"
#include "trace/file/trace_writer.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

using trace::RecordType;

void add_record(std::vector<std::uint8_t>& file, RecordType type, const std::vector<std::uint8_t>& payload) {
  trace::RecordHeader header{static_cast<std::uint16_t>(type), 0, static_cast<std::uint32_t>(payload.size()), 0};
  header.checksum = trace::record_checksum(header, payload);
  trace::ByteWriter bytes;
  bytes.fixed32(header.type);
  bytes.fixed32(header.length);
  bytes.fixed64(header.checksum);
  bytes.append(payload);
  file.insert(file.end(), bytes.bytes().begin(), bytes.bytes().end());
}

// A trace without its end record.
std::vector<std::uint8_t> beginning_of_trace(const TempDir& dir) {
  write_example_trace(dir / "example.tare");
  std::vector<std::uint8_t> file = read_file(dir / "example.tare");
  file.resize(0x142);  // FORMAT.md's worked example
  return file;
}

std::vector<std::uint8_t> packed(std::size_t first, std::size_t count, const std::vector<std::uint8_t>& entries) {
  trace::ByteWriter payload;
  for (const std::size_t number : {first, count, entries.size()}) payload.varint(number);
  std::vector<std::uint8_t> frame(ZSTD_compressBound(entries.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), entries.data(), entries.size(), 1));
  payload.append(frame);
  return std::move(payload.bytes());
}

void expect_limit_named(const Error& error, const std::string& path) {
  EXPECT_EQ(error.kind, ErrorKind::Corrupt);
  for (const std::string& part : {path, std::string("offset "), std::string("TARE_TRUST_FILES=1")})
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
}

TEST(Expansion, PackedEntriesOfTheWholeFileAreLimited) {
  TempDir dir;
  std::vector<std::uint8_t> file = beginning_of_trace(dir);
  // Each stack is of the first row and has the one before as its caller.
  constexpr std::size_t kCount = 1 << 20;
  std::vector<std::uint8_t> entries(2 * kCount);
  for (std::size_t i = 1; i < kCount; ++i) entries[2 * i + 1] = 1;
  for (int i = 0; i < 64; ++i)
    add_record(file, RecordType::Stacks, packed(3 + static_cast<std::size_t>(i) * kCount, kCount, entries));
  ASSERT_LT(file.size(), 32u << 10);
  write_file(dir / "small.tare", file);
  auto opened = trace::open_trace(dir / "small.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_LT(opened->dictionary().stacks.size(), 2 * kCount);
  ASSERT_TRUE(opened->damage());
  expect_limit_named(*opened->damage(), dir / "small.tare");
  ASSERT_EQ(::setenv("TARE_TRUST_FILES", "1", 1), 0);
  auto trusted = trace::open_trace(dir / "small.tare");
  ::unsetenv("TARE_TRUST_FILES");
  ASSERT_TRUE(trusted);
  EXPECT_EQ(trusted->dictionary().stacks.size(), 3 + 64 * kCount);
}

TEST(Expansion, WhatWeWriteKeepsToTheLimit) {
  TempDir dir;
  trace::Dictionary dictionary;
  dictionary.modules.push_back({0, 0x1000, 0x2000, "/bin/app", {}, 0});
  dictionary.rows.assign(1, 0x1234);
  // A recursion whose every level allocates: all but nothing when packed.
  constexpr std::uint32_t kLevels = 600'000 / kSanitizedDivisor;
  for (std::uint32_t level = 0; level <= kLevels; ++level) {
    dictionary.stacks.push_back({trace::StackId{level == 0 ? 0 : level - 1}, trace::RowId{0}});
    trace::Shape shape{};
    shape.stack = trace::StackId{level};
    shape.api = trace::AllocApi::Malloc;
    shape.requested_bytes = shape.usable_bytes = 24;
    shape.weight = 1;
    if (level > 0) dictionary.shapes.push_back(shape);
  }
  auto writer = trace::TraceWriter::create(dir / "deep.tare");
  ASSERT_TRUE(writer);
  trace::Moment moment;
  moment.kind = trace::MomentKind::Exit;
  moment.blocks.resize(trace::kMaxRecordEntries);
  for (std::size_t i = 0; i < moment.blocks.size(); ++i) moment.blocks[i].address = 0x1000 + 16 * i;
  writer->put_growth(dictionary);
  for (int i = 0; i < 3; ++i) writer->put_moment(moment);
  ASSERT_TRUE(writer->flush());
  auto opened = trace::open_trace(dir / "deep.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->damage());
  EXPECT_EQ(opened->dictionary().stacks.size(), dictionary.stacks.size());
  EXPECT_EQ(opened->dictionary().shapes.size(), dictionary.shapes.size());
  std::size_t moments = 0;
  EXPECT_TRUE(opened->read_moments([&](const trace::Moment& one) { moments += one == moment ? 1 : 0; }));
  EXPECT_EQ(moments, 3u);
}

TEST(Expansion, ObservationsOfTheWholeFileAreLimited) {
  TempDir dir;
  std::vector<std::uint8_t> file = beginning_of_trace(dir);
  trace::Moment moment;
  moment.kind = trace::MomentKind::Exit;
  moment.blocks.resize(trace::kMaxRecordEntries);
  for (std::size_t i = 0; i < moment.blocks.size(); ++i) moment.blocks[i].address = 0x1000 + 16 * i;
  trace::ByteWriter payload;
  trace::encode_moment(moment, 0, trace::Packing::Smallest, payload);
  for (int i = 0; i < 16; ++i) add_record(file, RecordType::Moment, payload.bytes());
  write_file(dir / "moments.tare", file);
  auto opened = trace::open_trace(dir / "moments.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  const Status read = opened->read_moments([](const trace::Moment&) {});
  ASSERT_FALSE(read);
  expect_limit_named(read.error(), dir / "moments.tare");
}

TEST(Expansion, EventsOfManyThreadsAreLimited) {
  TempDir dir;
  std::vector<std::uint8_t> file = beginning_of_trace(dir);
  trace::EventBuffer events;
  for (std::uint64_t i = 0; i < trace::kMaxBlockEvents; ++i)
    events.push_back({1000 + i, 0x1000 + 16 * i, trace::ShapeId{0}, 0, trace::EventKind::Alloc, 0});
  trace::Dictionary dictionary;
  dictionary.rows.assign(2, 0x1234);
  dictionary.stacks.assign(3, {trace::StackId{0}, trace::RowId{0}});
  trace::Shape shape{};
  shape.requested_bytes = 100;  // the example's
  shape.usable_bytes = 104;
  dictionary.shapes.push_back(shape);
  trace::EventBlockEncoder encoder;
  for (std::uint32_t thread = 0; thread < 250; ++thread) {
    trace::BlockHeader header;
    header.thread = thread;
    std::uint32_t used_shapes = 1;
    const auto payload = encoder.encode(header, events, dictionary, used_shapes);
    add_record(file, RecordType::Events, {payload.begin(), payload.end()});
  }
  write_file(dir / "threads.tare", file);
  auto opened = trace::open_trace(dir / "threads.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_FALSE(opened->damage()) << opened->damage()->message;
  struct : trace::EventSink {
    void consume(std::span<const trace::Event>) override {}
  } sink;
  const Status read = opened->replay_into(sink);
  ASSERT_FALSE(read);
  expect_limit_named(read.error(), dir / "threads.tare");
}

}  // namespace
}  // namespace tare::test
