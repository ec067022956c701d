// Blocks that end within their run of events: replay with and without foreseeing them says the same.
#include "core/analysis/short_lives.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "support/made_up_trace.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;

Event event(EventKind kind, std::uint64_t address) { return {0, address, trace::kNoShape, 0, kind, 0}; }

std::size_t foresee(ShortLives& lives, const std::vector<Event>& events) {
  return lives.foresee(events, [](const Event&) {});
}

TEST(ShortLives, PairsBirthsWithEnds) {
  ShortLives lives;
  const std::vector<Event> events{event(EventKind::Alloc, 0x1000), event(EventKind::Alloc, 0x2000),
                                  event(EventKind::Free, 0x3000),  event(EventKind::Free, 0x1000),
                                  event(EventKind::Free, 0x1000),  event(EventKind::ReallocStart, 0x1000),
                                  event(EventKind::Alloc, 0x2000), event(EventKind::Free, 0x2000)};
  ASSERT_EQ(foresee(lives, events), events.size());
  EXPECT_TRUE(lives.is_short(0));
  EXPECT_FALSE(lives.is_vacant(0));
  EXPECT_FALSE(lives.is_short(1)) << "another block began on it before it ended";
  EXPECT_EQ(lives.birth_of(2), ShortLives::kNone);
  EXPECT_EQ(lives.birth_of(3), 0u);
  EXPECT_EQ(lives.birth_of(4), ShortLives::kNone) << "it had ended";
  EXPECT_FALSE(lives.is_short(5));
  EXPECT_TRUE(lives.is_vacant(5));
  EXPECT_TRUE(lives.is_short(6));
  EXPECT_FALSE(lives.is_vacant(6));
  EXPECT_EQ(lives.birth_of(7), 6u);
}

TEST(ShortLives, DoesNotPairWithTheSamePlaceOfAnEarlierRun) {
  ShortLives lives;
  ASSERT_EQ(foresee(lives, {event(EventKind::Alloc, 0x1000)}), 1u);
  ASSERT_EQ(foresee(lives, {event(EventKind::Alloc, 0x2000), event(EventKind::Free, 0x1000),
                            event(EventKind::Alloc, 0x1000), event(EventKind::Free, 0x1000)}),
            4u);
  EXPECT_FALSE(lives.is_short(0));
  EXPECT_EQ(lives.birth_of(1), ShortLives::kNone);
  EXPECT_TRUE(lives.is_vacant(2)) << "the block of the earlier run ended there";
  EXPECT_EQ(lives.birth_of(3), 2u);
}

TEST(ShortLives, EndsARunWithANoteAboutBlocks) {
  ShortLives lives;
  for (const EventKind kind : {EventKind::Mark, EventKind::PoolAlloc, EventKind::Report}) {
    EXPECT_EQ(foresee(lives, {event(EventKind::Alloc, 0x1000), event(kind, 0x1000), event(EventKind::Free, 0x1000)}),
              2u);
    EXPECT_FALSE(lives.is_short(0));
  }
}

TEST(ShortLives, GoOnAfterNotesOfWhatABlockHeld) {
  ShortLives lives;
  const std::vector<Event> events{event(EventKind::Alloc, 0x1000), event(EventKind::Contents, 0x1000),
                                  event(EventKind::Digest, 0x1000), event(EventKind::Free, 0x1000)};
  ASSERT_EQ(foresee(lives, events), events.size());
  EXPECT_TRUE(lives.is_short(0));
  EXPECT_EQ(lives.birth_of(3), 0u);
}

// Blocks far apart, so that foreseeing begins, and a tenth of all events impossible.
MadeUpTrace any_trace(std::uint32_t seed) {
  MadeUpTrace made;
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  std::vector<trace::ShapeId> shapes;
  for (std::uint64_t size = 8; size < 20000; size += size / 2)
    shapes.push_back(made.shape(made.stack(0x2000 + 16 * (size % 3)), size));
  const auto address = [&] { return 0x10000000 + std::uint64_t{below(3000)} * 0x100000; };
  std::vector<std::uint64_t> live;
  const auto take = [&] {
    const std::size_t at =
        below(4) != 0 ? live.size() - 1 - below(static_cast<std::uint32_t>(std::min<std::size_t>(8, live.size())))
                      : below(static_cast<std::uint32_t>(live.size()));
    std::swap(live[at], live.back());
    const std::uint64_t taken = live.back();
    live.pop_back();
    return taken;
  };
  const auto tell = [&](std::uint64_t of, std::uint16_t thread) {
    if (below(3) == 0) return;
    made.add(EventKind::Contents, below(50) == 0 ? address() : of, trace::ShapeId{below(40)}, thread);
    if (below(2) == 0) made.add(EventKind::Digest, 1 + below(20), trace::kNoShape, thread);
  };
  for (int i = 0; i < 60'000; ++i) {
    const std::uint16_t thread = static_cast<std::uint16_t>(below(2));
    const trace::ShapeId shape = shapes[below(static_cast<std::uint32_t>(shapes.size()))];
    const std::uint32_t what = below(100);
    if (what == 0) {
      made.free(address(), thread);
    } else if (what == 1) {
      made.add(EventKind::Mark, 1);
    } else if (what < 8 && !live.empty()) {
      const std::uint64_t old = take();
      tell(old, thread);
      live.push_back(below(2) != 0 ? old : address());
      made.realloc(old, live.back(), shape, thread);
    } else if (live.empty() || below(200 + static_cast<std::uint32_t>(live.size())) < 150) {
      live.push_back(address());
      made.alloc(live.back(), shape, thread);
    } else {
      const std::uint64_t ended = take();
      tell(ended, thread);
      made.free(ended, thread);
    }
  }
  made.alloc(0x30, static_cast<trace::ShapeId>(1 << 20));  // no such shape
  made.free(0x30);
  return made;
}

TEST(ShortLives, ChangeNothingThatReplayFinds) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const MadeUpTrace made = any_trace(seed);
    const std::vector<trace::ClockPair> pairs = made.clock();
    Replay whole(made.dictionary, made.info, {});
    whole.consume(made.events);
    Replay one_by_one(made.dictionary, made.info, {});
    for (const Event& one : made.events) one_by_one.consume({&one, 1});
    const Tables found = whole.finish(pairs);
    const Tables expected = one_by_one.finish(pairs);
    EXPECT_GT(process_value(expected, "impossible_events"), 100);
    EXPECT_GT(expected["growth"].rows(), 0u);
    EXPECT_GT(expected["written"].rows(), 0u);
    EXPECT_GT(expected["recreated"].rows(), 0u);
    for (const Table& table : expected.tables) EXPECT_EQ(found[table.name], table) << table.name << ", seed " << seed;
  }
}

// Foreseeing begins after blocks far apart. The large block ends in its run, after the reading.
TEST(ShortLives, OwnTheirMemoryAtAReading) {
  constexpr std::uint64_t kPiece = 0x7f0000001000, kBytes = 64 << 20;  // not aligned as an arena is
  MadeUpTrace made;
  const trace::ShapeId small = made.shape(made.stack(0x2000), 100);
  const trace::ShapeId large = made.shape(made.stack(0x2010), kBytes);
  for (std::uint64_t i = 0; i < ShortLives::kMostEvents; ++i) made.alloc(0x10000000 + i * 0x100000, small);
  made.alloc(kPiece + 16, large);
  made.info.reading = trace::MemoryReading{};
  made.info.reading->stamp = made.stamp;
  made.info.reading->pieces.push_back({kPiece, kBytes + 4096, kBytes, trace::RangeKind::Anonymous});
  made.free(kPiece + 16);
  made.alloc(kPiece + 16, small);
  const Tables tables = made.replay();
  EXPECT_EQ(process_value(tables, "rss_heap_bytes"), std::int64_t{kBytes});
  EXPECT_EQ(process_value(tables, "rss_other_bytes"), 0);
  EXPECT_GE(process_value(tables, "rss_gross_bytes"), std::int64_t{kBytes});
}

}  // namespace
}  // namespace tare::core
