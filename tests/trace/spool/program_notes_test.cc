// Reports of programs about their memory, from the spool through a trace file, and errors of damaged ones.
#include "trace/spool/program_note.h"

#include <gtest/gtest.h>

#include "support/noted_spool.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/dictionary_codec.h"
#include "trace/file/event_block.h"
#include "trace/file/expected_events.h"
#include "trace/file/record.h"
#include "trace/open/open_trace.h"
#include "trace/spool/spool_decoder.h"
#include "trace/spool/spool_event.h"

namespace tare::test {
namespace {

using namespace trace;

void expect_all_notes(const std::string& path) {
  auto opened = open_trace(path);
  ASSERT_TRUE(opened) << opened.error().message;
  const Dictionary& dictionary = opened->dictionary();
  EXPECT_EQ(dictionary.names, (std::vector<std::string>{"explicit/a", "explicit/b", "cells"}));
  CollectingSink sink;
  ASSERT_TRUE(opened->replay_into(sink));
  struct Expected {
    EventKind kind;
    std::uint64_t address;
    int name = -1;
    std::uint64_t bytes = 0;
    std::uint8_t api = 0;
  };
  const Expected expected[] = {
      {EventKind::Alloc, 0x1000, -1, 32},
      {EventKind::Report, 0x1000, 0, 0, 1},
      {EventKind::Report, 0x2000, 1},
      {EventKind::ClearReports, 0},
      {EventKind::PoolCreate, pool_word(7, 0), 2},
      {EventKind::PoolGrow, pool_word(7, 0x10000), -1, 4096},
      {EventKind::PoolAlloc, pool_word(7, 0x10000), -1, 64},
      {EventKind::PoolAlloc, pool_word(7, 0x10040), -1, 64},
      {EventKind::PoolFree, pool_word(7, 0x10000)},
      {EventKind::PoolReset, pool_word(7, 0)},
      {EventKind::PoolShrink, pool_word(7, 0x10000)},
      {EventKind::PoolDestroy, pool_word(7, 0)},
      {EventKind::ReportSite, 0x1000},
      {EventKind::Report, 0x1000, 0},
      {EventKind::FailedRequest, 0, -1, std::uint64_t{1} << 40, static_cast<std::uint8_t>(AllocApi::AlignedAlloc)},
  };
  ASSERT_EQ(sink.all.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    SCOPED_TRACE(i);
    const Event& event = sink.all[i];
    EXPECT_EQ(event.kind, expected[i].kind);
    EXPECT_EQ(event.address, expected[i].address);
    EXPECT_EQ(event.api, expected[i].api);
    EXPECT_EQ(event.stamp, 1'000'100 + i * 100);
    if (expected[i].bytes != 0 || event.kind == EventKind::ReportSite) {
      const Shape& shape = dictionary.shapes.at(index(event.shape));
      EXPECT_EQ(shape.requested_bytes, expected[i].bytes);
      EXPECT_EQ(shape.is_map != 0, event.kind != EventKind::Alloc);
      EXPECT_EQ(shape.align_log2, event.kind == EventKind::FailedRequest ? 6 : 0);
      EXPECT_EQ(return_addresses(dictionary, shape.stack), (std::vector<std::uint64_t>{0x401000, 0x402000}));
    } else {
      EXPECT_EQ(index(event.shape), expected[i].name < 0 ? index(kNoShape) : expected[i].name);
    }
  }
}

TEST(ProgramNotes, ComeThroughASpool) {
  TempDir dir;
  write_noted_spool(dir / "spool");
  expect_all_notes(dir / "spool");
}

TEST(ProgramNotes, ComeThroughATrace) {
  TempDir dir;
  write_noted_spool(dir / "spool");
  write_trace_of_spool(dir / "spool", dir / "trace", 100, Ending::End);
  std::filesystem::remove(dir / "spool");
  expect_all_notes(dir / "trace");
}

TEST(ProgramNotes, NamesAreARecordThatOlderReadersMaySkip) {
  TempDir dir;
  write_noted_spool(dir / "spool");
  write_trace_of_spool(dir / "spool", dir / "trace", 100, Ending::End);
  const std::vector<std::uint8_t> bytes = read_file(dir / "trace");
  int found = 0;
  for (std::size_t at = kFileHeaderBytes; at < bytes.size();) {
    RecordHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.type == 9) {
      ++found;
      EXPECT_EQ(header.flags, kRecordSkippable);
    } else {
      EXPECT_EQ(header.flags, 0);
    }
    at += kRecordHeaderBytes + header.length;
  }
  EXPECT_EQ(found, 1);
}

Dictionary with_rows() {
  Dictionary dictionary;
  dictionary.rows = {0x1000, 0x2000};
  return dictionary;
}

constexpr std::uint64_t word(Op op) { return static_cast<std::uint64_t>(op); }

TEST(ProgramNotes, AreCutOffOrDamagedLikeOtherEvents) {
  Dictionary dictionary = with_rows();
  SpoolDecoder decoder(dictionary);
  const auto damage_of = [&](std::vector<std::uint64_t> words) {
    ThreadDecodeState state;
    state.open_chunk(0, 50);
    EventBuffer events;
    return decoder.decode(state, words, events);
  };
  const std::uint64_t one_row = word(Op::PoolAlloc) | std::uint64_t{1} << W0::kFreshShift;
  EXPECT_FALSE(damage_of({one_row, 0x1000, 64, 1}));
  EXPECT_TRUE(damage_of({one_row, 0x1000, 64}));                                                  // its row is missing
  EXPECT_TRUE(damage_of({one_row, 0x1000, 64, 2}));                                               // beyond the rows
  EXPECT_TRUE(damage_of({word(Op::PoolGrow) | W0::kStamped, 0x1000, 64}));                        // no stamp
  EXPECT_TRUE(damage_of({word(Op::PoolGrow) | std::uint64_t{1} << W0::kKeptShift, 0x1000, 64}));  // of what stack?
  const std::uint64_t failed = word(Op::FailedRequest) | std::uint64_t{1} << W0::kFreshShift;
  const std::uint64_t by_malloc = static_cast<std::uint64_t>(AllocApi::Malloc) << W1::kApiShift;
  EXPECT_FALSE(damage_of({failed, by_malloc, ~std::uint64_t{0}, 1}));
  EXPECT_TRUE(damage_of({failed, by_malloc, 64}));                    // its row is missing
  EXPECT_TRUE(damage_of({failed, by_malloc, 64, 2}));                 // beyond the rows
  EXPECT_TRUE(damage_of({failed, 0, 64, 1}));                         // no entry point
  EXPECT_TRUE(damage_of({failed | W0::kStamped, by_malloc, 64, 1}));  // no stamp
  EXPECT_FALSE(damage_of({word(Op::Report), 0x1000}));
  EXPECT_TRUE(damage_of({word(Op::Report)}));
  EXPECT_TRUE(damage_of({word(Op::PoolCreate) | N0::kStamped, 1}));
}

// The cost of a call is of the shape that its thread's event just before has, wherever that shape was first seen.
TEST(ProgramNotes, ACallsCostIsOfTheEventBefore) {
  Dictionary dictionary = with_rows();
  dictionary.stacks.push_back({});
  SpoolDecoder decoder(dictionary);
  ThreadDecodeState state;
  state.open_chunk(0, 50);
  EventBuffer events;
  const std::uint64_t alloc = word(Op::Alloc) | std::uint64_t{1} << W0::kFreshShift;
  const std::uint64_t api = static_cast<std::uint64_t>(AllocApi::Malloc) << W1::kApiShift;
  const std::uint64_t cost = word(Op::CallCost) | N0::kStamped;
  const std::vector<std::uint64_t> words = {alloc,
                                            api | 0x1000,
                                            32,
                                            1,
                                            cost,
                                            210,
                                            60,
                                            cost,
                                            7,
                                            61,
                                            cost | kCostOfFree,
                                            90,
                                            61,
                                            word(Op::Holders) | N0::kStamped | kSeveralHolders,
                                            0x1000,
                                            62};
  ASSERT_FALSE(decoder.decode(state, words, events));
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[1].kind, EventKind::CallCost);
  EXPECT_EQ(events[1].address, 210u);
  EXPECT_NE(events[0].shape, kNoShape);
  EXPECT_EQ(events[1].shape, events[0].shape);
  EXPECT_EQ(events[2].shape, kNoShape);  // of what was lost
  EXPECT_EQ(events[2].api, 0);
  EXPECT_EQ(events[3].kind, EventKind::CallCost);
  EXPECT_EQ(events[3].address, 90u);
  EXPECT_EQ(events[3].shape, kNoShape);
  EXPECT_EQ(events[3].api, 1);
  EXPECT_EQ(events[4].kind, EventKind::Holders);
  EXPECT_EQ(events[4].address, 0x1000u);
  EXPECT_EQ(events[4].api, 1);
}

TEST(ProgramNotes, ANameThatIsNowhereIsNone) {
  Dictionary dictionary = with_rows();
  const auto pool = [](StringRef ref) { return ref.offset < 100 ? std::string(ref.length, 'x') : std::string(); };
  NameInterner names(dictionary, pool);
  EXPECT_EQ(names.find({0, 3}), NameId{0});
  EXPECT_EQ(names.find({50, 3}), NameId{0});  // another place, the same name
  EXPECT_EQ(names.find({0, 4}), NameId{1});
  EXPECT_EQ(names.find({100, 3}), kNoName);
  EXPECT_EQ(names.find({0, kMaxNameBytes + 1}), kNoName);
  EXPECT_EQ(names.find({7, 0}), NameId{2});
  EXPECT_EQ(dictionary.names, (std::vector<std::string>{"xxx", "xxxx", ""}));
  EXPECT_EQ(NameInterner(dictionary, pool).find({1, 4}), NameId{1});  // those that were there are known
  EXPECT_EQ(NameInterner(dictionary, {}).find({0, 3}), kNoName);
}

TEST(ProgramNotes, NamesRecordsAreCheckedBeforeTheyAreBelieved) {
  Dictionary written;
  written.names = {"a", "", std::string(kMaxNameBytes, 'b'), std::string("\xff\0z", 3)};
  ByteWriter out;
  encode_names(written, 0, written.names.size(), Packing::Smallest, out);
  ExpansionBudget budget(~std::uint64_t{0});
  Dictionary read;
  EXPECT_EQ(decode_names(out.bytes(), budget, read), nullptr);
  EXPECT_EQ(read.names, written.names);
  EXPECT_NE(decode_names(out.bytes(), budget, read), nullptr);  // doesn't follow the ones before
  for (std::size_t size = 0; size < out.bytes().size(); ++size) {
    Dictionary cut;
    EXPECT_NE(decode_names({out.bytes().data(), size}, budget, cut), nullptr) << size;
  }
  written.names = {std::string(kMaxNameBytes + 1, 'c')};
  out.clear();
  encode_names(written, 0, 1, Packing::Smallest, out);
  Dictionary empty;
  EXPECT_NE(decode_names(out.bytes(), budget, empty), nullptr);
}

// A block of one note, as it comes back; nullptr damage where it is accepted.
const char* damage_of(const Event& note, const Dictionary& dictionary, EventBuffer& back) {
  EventBlockEncoder encoder;
  EventBlockDecoder decoder;
  BlockHeader header;
  std::uint32_t used_shapes = 0;
  return decoder.decode(encoder.encode(header, {&note, 1}, dictionary, used_shapes), dictionary, back);
}

TEST(ProgramNotes, ReferOnlyToWhatThereIs) {
  Dictionary dictionary;
  dictionary.stacks.push_back({});
  dictionary.names = {"a"};
  dictionary.shapes.push_back({kEmptyStack, AllocApi::Malloc, 0, 0, 0, 8, 24, 1});
  dictionary.shapes.push_back({kEmptyStack, static_cast<AllocApi>(MapApi::PoolBlock), 0, 1, 0, 8, 8, 1});
  const auto accepted = [&](EventKind kind, std::uint32_t entry) {
    EventBuffer back;
    const Event note{5, 0x1000, ShapeId{entry}, 0, kind, 0};
    const char* damage = damage_of(note, dictionary, back);
    if (damage == nullptr) {
      EXPECT_EQ(std::memcmp(&note, &back[0], sizeof note), 0);
    }
    return damage == nullptr;
  };
  EXPECT_TRUE(accepted(EventKind::Report, 0));
  EXPECT_TRUE(accepted(EventKind::Report, index(kNoShape)));
  EXPECT_FALSE(accepted(EventKind::Report, 1));
  EXPECT_FALSE(accepted(EventKind::PoolCreate, 1));
  EXPECT_TRUE(accepted(EventKind::PoolAlloc, 1));
  EXPECT_FALSE(accepted(EventKind::PoolAlloc, 0));  // a shape of malloc's
  EXPECT_FALSE(accepted(EventKind::PoolGrow, 2));
  EXPECT_TRUE(accepted(EventKind::FailedRequest, 1));
  EXPECT_FALSE(accepted(EventKind::FailedRequest, 0));  // a shape of malloc's
  EXPECT_FALSE(accepted(EventKind::FailedRequest, 2));
  EXPECT_FALSE(accepted(EventKind::FailedRequest, index(kNoShape) - 1));
  EXPECT_FALSE(accepted(EventKind::Mark, 0));
  EXPECT_TRUE(accepted(EventKind::CallCost, 0));
  EXPECT_FALSE(accepted(EventKind::CallCost, 1));  // a mapping's
  EXPECT_FALSE(accepted(EventKind::CallCost, 2));
  EXPECT_TRUE(accepted(EventKind::Amount, 0));
  EXPECT_FALSE(accepted(EventKind::Amount, 1));
  EXPECT_FALSE(accepted(EventKind::Holders, 0));
  EXPECT_TRUE(accepted(static_cast<EventKind>(200), 12345));  // a newer version's
}

}  // namespace
}  // namespace tare::test
