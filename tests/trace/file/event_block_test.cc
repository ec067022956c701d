// Event blocks give back what was put in, whatever the events; damaged payloads give an error or events, never a crash.
#include "trace/file/event_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tare::trace {
namespace {

Dictionary dictionary_of(std::size_t shapes) {
  Dictionary dictionary;
  dictionary.stacks = {{kEmptyStack, RowId{0}}, {kEmptyStack, RowId{0}}};
  dictionary.rows = {0x1000};
  for (std::size_t i = 0; i < shapes; ++i) {
    const bool map = i % 10 == 9;
    dictionary.shapes.push_back({StackId{1}, map ? static_cast<AllocApi>(MapApi::Mmap) : AllocApi::Malloc, 0,
                                 static_cast<std::uint8_t>(map), 0, i * 7, i * 8 + 8, 1});
  }
  return dictionary;
}

std::vector<Event> random_events(std::size_t count, std::size_t shapes, std::uint64_t seed, bool free_stacks) {
  std::mt19937_64 random(seed);
  std::vector<Event> events;
  std::vector<std::uint64_t> live;
  std::uint64_t stamp = random() >> 20;
  while (events.size() < count) {
    stamp += random() % 100 < 90 ? random() % 300 : random() >> 30;
    const std::uint64_t dice = random() % 100;
    std::uint32_t shape = static_cast<std::uint32_t>(random() % shapes);
    const std::uint64_t address = random() % 4 == 0 ? random() >> 16 : 0x1000'0000 + random() % 1000 * 16;
    const auto add = [&](EventKind kind, std::uint64_t where, ShapeId which, std::uint8_t api) {
      events.push_back({stamp, where, which, 7, kind, api});
    };
    if (dice < 45) {
      if (shape % 10 == 9) --shape;
      add(EventKind::Alloc, address, ShapeId{shape}, 0);
      live.push_back(address);
    } else if (dice < 85) {
      const std::uint64_t which = live.empty() || dice < 50 ? address : live[random() % live.size()];
      add(EventKind::Free, which, free_stacks && dice % 3 != 0 ? ShapeId{1} : kNoShape,
          static_cast<std::uint8_t>(1 + random() % 7));
    } else if (dice < 93) {
      if (shape % 10 == 9) --shape;
      add(EventKind::ReallocEnd, live.empty() ? address : live[random() % live.size()], kNoShape, 0);
      stamp += random() % 50;
      add(EventKind::ReallocStart, address, ShapeId{shape}, 0);
    } else if (dice < 97 && shapes > 9) {
      add(dice % 2 == 0 ? EventKind::Map : EventKind::Unmap, address, ShapeId{9}, 0);
    } else {
      add(EventKind::Mark, random(), kNoShape, 0);
    }
  }
  return events;
}

void expect_round_trip(const std::vector<Event>& events, const Dictionary& dictionary, EventBlockEncoder& encoder,
                       std::uint32_t& used_shapes) {
  BlockHeader header;
  header.thread = 7;
  header.first_event = 5;
  header.spool_events = events.size();
  header.first_chunk = 3;
  header.last_chunk = 9;
  const auto payload = encoder.encode(header, events, dictionary, used_shapes);
  BlockHeader read;
  ASSERT_TRUE(EventBlockDecoder::read_header(payload, read));
  EXPECT_EQ(read.thread, 7u);
  EXPECT_EQ(read.first_event, 5u);
  EXPECT_EQ(read.first_chunk, 3u);
  EXPECT_EQ(read.last_chunk, 9u);
  EXPECT_EQ(read.event_count, events.size());
  EventBlockDecoder decoder;
  EventBuffer back;
  const char* damage = decoder.decode(payload, dictionary, back);
  ASSERT_EQ(damage, nullptr) << damage;
  ASSERT_EQ(back.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(std::memcmp(&back[i], &events[i], sizeof(Event)), 0) << "event " << i;
  }
}

TEST(EventBlock, GivesBackRandomEvents) {
  EventBlockEncoder encoder;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t shapes = 1 + seed * 11 % 200;
    const Dictionary dictionary = dictionary_of(shapes);
    std::uint32_t used_shapes = 0;
    for (int block = 0; block < 3; ++block) {
      expect_round_trip(random_events(seed * 40, shapes, seed * 3 + static_cast<std::uint64_t>(block), seed % 2 == 0),
                        dictionary, encoder, used_shapes);
    }
  }
}

TEST(EventBlock, GivesBackTheLargest) {
  EventBlockEncoder encoder;
  const Dictionary dictionary = dictionary_of(300);
  std::uint32_t used_shapes = 0;
  std::vector<Event> events = random_events(kMaxBlockEvents - 1, 300, 1, false);
  events.resize(std::min<std::size_t>(events.size(), kMaxBlockEvents));
  if (events.back().kind == EventKind::ReallocEnd) events.pop_back();
  expect_round_trip(events, dictionary, encoder, used_shapes);
}

TEST(EventBlock, GivesBackExtremes) {
  EventBlockEncoder encoder;
  const Dictionary dictionary = dictionary_of(2);
  std::uint32_t used_shapes = 0;
  const std::uint64_t top = (std::uint64_t{1} << 48) - 1;
  expect_round_trip({}, dictionary, encoder, used_shapes);
  expect_round_trip({{0, 0, ShapeId{1}, 7, EventKind::Alloc, 0},
                     {0, top, kNoShape, 7, EventKind::Free, 1},
                     {1, top, ShapeId{0}, 7, EventKind::Alloc, 0},
                     {~std::uint64_t{0}, 0, kNoShape, 7, EventKind::Free, 7},
                     {~std::uint64_t{0}, ~std::uint64_t{0}, kNoShape, 7, EventKind::Mark, 0}},
                    dictionary, encoder, used_shapes);
}

TEST(EventBlock, PredictableEventsCostNextToNothing) {
  EventBlockEncoder encoder;
  const Dictionary dictionary = dictionary_of(2);
  std::uint32_t used_shapes = 0;
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    events.push_back({1000 + i, 0x1000, ShapeId{0}, 0, EventKind::Alloc, 0});
    events.push_back({1000 + i, 0x1000, kNoShape, 0, EventKind::Free, 1});
  }
  BlockHeader header;
  EXPECT_LT(encoder.encode(header, events, dictionary, used_shapes).size(), 400u);
}

TEST(EventBlock, DamageIsAnErrorOrEventsButNeverACrash) {
  const Dictionary dictionary = dictionary_of(50);
  const std::vector<Event> events = random_events(600, 50, 4, true);
  EventBlockEncoder encoder;
  EventBlockDecoder decoder;
  std::uint32_t used_shapes = 0;
  BlockHeader header;
  const auto payload = encoder.encode(header, events, dictionary, used_shapes);
  std::mt19937_64 random(1);
  int errors = 0;
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::uint8_t> damaged(payload.begin(), payload.end());
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    EventBuffer back;
    if (decoder.decode(damaged, dictionary, back) != nullptr) {
      ++errors;
      EXPECT_EQ(back.size(), 0u);
      continue;
    }
    for (const Event& event : std::span<const Event>(back)) {
      ASSERT_TRUE(event.kind != EventKind::Alloc || index(event.shape) < dictionary.shapes.size());
    }
  }
  EXPECT_GT(errors, kTries / 2);
}

}  // namespace
}  // namespace tare::trace
