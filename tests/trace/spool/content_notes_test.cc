// Contents of blocks, from the spool through a trace file, and errors of damaged notes.
#include <gtest/gtest.h>

#include "support/content_spool.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/event_block.h"
#include "trace/file/expected_events.h"
#include "trace/open/open_trace.h"
#include "trace/spool/spool_decoder.h"
#include "trace/spool/spool_event.h"

namespace tare::test {
namespace {

using namespace trace;

void expect_content_notes(const std::string& path) {
  auto opened = open_trace(path);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->info().contents_recorded);
  CollectingSink sink;
  ASSERT_TRUE(opened->replay_into(sink));
  std::vector<Event> notes;
  std::vector<EventKind> kinds;
  for (const Event& event : sink.all) {
    kinds.push_back(event.kind);
    if (event.kind == EventKind::Contents || event.kind == EventKind::Digest) notes.push_back(event);
  }
  using enum EventKind;
  EXPECT_EQ(kinds, (std::vector<EventKind>{Alloc, Contents, Free, Alloc, Contents, ReallocEnd, ReallocStart, Contents,
                                           Digest, Alloc, Free, Free, Alloc, Contents, Free}));
  ASSERT_EQ(notes.size(), 5u);
  const auto expect = [&](std::size_t at, std::uint64_t stamp, std::uint64_t address, std::uint32_t unwritten,
                          ContentClass content_class) {
    SCOPED_TRACE(at);
    EXPECT_EQ(notes[at].stamp, stamp);
    EXPECT_EQ(notes[at].address, address);
    EXPECT_EQ(index(notes[at].shape), unwritten);
    EXPECT_EQ(notes[at].api, static_cast<std::uint8_t>(content_class));
  };
  expect(0, 1'000'100, 0x1000, 84, ContentClass::Text);
  expect(1, 1'000'400, 0x2000, 4048, ContentClass::Other);
  expect(2, 1'000'500, 0x3000, 3, ContentClass::Other);
  expect(4, 1'001'000, 0x5000, kMostUnwrittenBytes, ContentClass::Other);
  EXPECT_EQ(notes[3].address, 0x77u);
}

TEST(ContentNotes, ComeThroughASpool) {
  TempDir dir;
  write_content_spool(dir / "spool");
  expect_content_notes(dir / "spool");
}

TEST(ContentNotes, ComeThroughATrace) {
  TempDir dir;
  write_content_spool(dir / "spool");
  write_trace_of_spool(dir / "spool", dir / "trace", 100, Ending::End);
  std::filesystem::remove(dir / "spool");
  expect_content_notes(dir / "trace");
}

Dictionary one_shape() {
  Dictionary dictionary;
  dictionary.stacks.push_back({});
  dictionary.shapes.push_back({kEmptyStack, AllocApi::Malloc, 0, 0, 0, 8, 24, 1});
  return dictionary;
}

std::vector<std::uint8_t> encoded(const std::vector<Event>& events, const Dictionary& dictionary) {
  EventBlockEncoder encoder;
  BlockHeader header;
  std::uint32_t used_shapes = 0;
  const auto payload = encoder.encode(header, events, dictionary, used_shapes);
  return {payload.begin(), payload.end()};
}

const Event kAlloc{5, 0x1000, ShapeId{0}, 0, EventKind::Alloc, 0};
const Event kNote{6, 0x1000, ShapeId{4}, 0, EventKind::Contents, 0};
const Event kDigest{6, 0x99, kNoShape, 0, EventKind::Digest, 0};
const Event kFree{7, 0x1000, kNoShape, 0, EventKind::Free, static_cast<std::uint8_t>(FreeApi::Free)};

TEST(ContentNotes, CostNoAddressWhereTheBlockEndsNext) {
  const Dictionary dictionary = one_shape();
  const auto near = encoded({kAlloc, kNote, kFree}, dictionary);
  Event other = kNote;
  other.address = 0x7fff'0000'1000;
  const auto far = encoded({kAlloc, other, kFree}, dictionary);
  EXPECT_EQ(near.size() + 6, far.size());  // a varint of 47 bits instead of 0
}

TEST(ContentNotes, WithoutAddressMustBeFollowedByAnEnd) {
  const Dictionary dictionary = one_shape();
  EventBlockDecoder decoder;
  for (const auto& events : {std::vector{kAlloc, kNote, kFree}, std::vector{kAlloc, kNote, kDigest, kFree}}) {
    EventBuffer back;
    ASSERT_EQ(decoder.decode(encoded(events, dictionary), dictionary, back), nullptr);
    ASSERT_EQ(back.size(), events.size());
    EXPECT_EQ(back[1].address, 0x1000u);
  }
  Event nameless = kNote;
  nameless.address = 0;
  for (const auto& events : {std::vector{kAlloc, nameless}, std::vector{kAlloc, nameless, kDigest},
                             std::vector{nameless, kAlloc}, std::vector{kAlloc, nameless, kNote, kFree}}) {
    EventBuffer back;
    EXPECT_NE(decoder.decode(encoded(events, dictionary), dictionary, back), nullptr);
    EXPECT_EQ(back.size(), 0u);
  }
}

TEST(ContentNotes, AreCutOffLikeOtherEvents) {
  Dictionary dictionary;
  SpoolDecoder decoder(dictionary);
  const auto damage_of = [&](std::vector<std::uint64_t> words) {
    ThreadDecodeState state;
    state.open_chunk(0, 50);
    EventBuffer events;
    return decoder.decode(state, words, events);
  };
  const auto contents = static_cast<std::uint64_t>(Op::Contents);
  EXPECT_FALSE(damage_of({contents, 0x1000, 0}));
  EXPECT_TRUE(damage_of({contents, 0x1000}));
  EXPECT_TRUE(damage_of({contents | N0::kStamped, 0x1000, 0}));
}

// An event block could not say it: 0 stands there for the address of the block that ends next.
TEST(ContentNotes, AreOfNoBlockAtAddressZero) {
  Dictionary dictionary;
  SpoolDecoder decoder(dictionary);
  ThreadDecodeState state;
  state.open_chunk(0, 50);
  EventBuffer events;
  const ChunkDamage damage =
      decoder.decode(state, std::vector<std::uint64_t>{static_cast<std::uint64_t>(Op::Contents), 0, 0}, events);
  ASSERT_TRUE(damage);
  EXPECT_STREQ(damage.what, "a note says what the block at address zero held");
  EXPECT_EQ(events.size(), 0u);
}

}  // namespace
}  // namespace tare::test
