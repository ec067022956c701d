// Damaged and hostile chunks: an error at the right word, everything before it kept, never a crash.
#include "trace/spool/spool_decoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "support/spool_script.h"
#include "support/temp_dir.h"
#include "trace/open/open_trace.h"
#include "trace/spool/spool_event.h"
#include "trace/spool/spool_file.h"

namespace tare::test {
namespace {

using namespace trace;

constexpr std::uint64_t kMalloc = std::uint64_t{1} << W1::kApiShift;

struct Decoded {
  ChunkDamage damage;
  EventBuffer events;
  Dictionary dictionary;
};

Decoded decode(const std::vector<std::uint64_t>& words, std::size_t rows = 4) {
  Decoded result;
  for (std::size_t i = 0; i < rows; ++i) result.dictionary.rows.push_back(0x1000 + i);
  SpoolDecoder decoder(result.dictionary);
  ThreadDecodeState state;
  state.open_chunk(0, 50);
  result.damage = decoder.decode(state, words, result.events);
  return result;
}

constexpr std::uint64_t alloc0(std::uint64_t kept, std::uint64_t fresh, std::uint64_t flags = 0) {
  return static_cast<std::uint64_t>(Op::Alloc) | flags | kept << W0::kKeptShift | fresh << W0::kFreshShift;
}

TEST(SpoolDecoder, KeptAndFreshFramesMakeStacks) {
  // outermost to innermost: 0 1 2, then 0 1 3, then 0
  const Decoded result = decode({alloc0(0, 3), kMalloc | 0x1000, 8, 2 | std::uint64_t{1} << 32, 0,  //
                                 alloc0(2, 1), kMalloc | 0x2000, 8, 3,                              //
                                 alloc0(1, 0), kMalloc | 0x3000, 8});
  ASSERT_FALSE(result.damage) << result.damage.what;
  ASSERT_EQ(result.events.size(), 3u);
  const auto& stacks = result.dictionary.stacks;
  ASSERT_EQ(stacks.size(), 5u);
  const auto stack_of = [&](std::size_t i) { return result.dictionary.shapes[index(result.events[i].shape)].stack; };
  EXPECT_EQ(index(stack_of(0)), 3u);
  EXPECT_EQ(index(stacks[3].row), 2u);
  EXPECT_EQ(index(stack_of(1)), 4u);
  EXPECT_EQ(index(stacks[4].caller), 2u);
  EXPECT_EQ(index(stack_of(2)), 1u);
  EXPECT_EQ(result.events[0].stamp, 50u);
}

// Allocations from `stacks` distinct stacks of 13 frames that share their two outer ones, each of `sizes` sizes.
std::vector<std::uint64_t> many_stacks(std::uint64_t stacks, std::uint64_t sizes) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < stacks * sizes; ++i) {
    const std::uint64_t path = i / sizes;
    std::uint64_t rows[13];  // innermost first
    for (std::uint64_t frame = 0; frame < 11; ++frame) rows[frame] = 2 + (path >> frame & 1);
    rows[11] = 1;
    rows[12] = 0;
    const std::uint64_t kept = i == 0 ? 0 : 2;
    const std::uint64_t fresh = 13 - kept;
    words.insert(words.end(), {alloc0(kept, fresh), kMalloc | (0x1000 + 16 * i), 100 + i % sizes});
    for (std::uint64_t frame = 0; frame < fresh; frame += 2) {
      words.push_back(rows[frame] | (frame + 1 < fresh ? rows[frame + 1] << 32 : 0));
    }
  }
  return words;
}

TEST(SpoolDecoder, AFullDictionaryKeepsSizesAndOuterFrames) {
  constexpr std::uint64_t kStacks = 1000;
  Dictionary dictionary;
  for (std::size_t i = 0; i < 4; ++i) dictionary.rows.push_back(0x1000 + i);
  SpoolDecoder decoder(dictionary, {}, {.stacks = 500, .shapes = 1 << 20, .shapes_without_stack = 0});
  ThreadDecodeState state;
  EventBuffer events;
  state.open_chunk(0, 50);
  ASSERT_FALSE(decoder.decode(state, many_stacks(kStacks, 1), events));
  ASSERT_EQ(events.size(), kStacks);
  EXPECT_EQ(dictionary.stacks.size(), 500u);
  std::uint64_t whole = 0, requested = 0;
  for (std::size_t i = 0; i < kStacks; ++i) {
    const Shape& shape = dictionary.shapes[index(events[i].shape)];
    requested += shape.requested_bytes;
    std::vector<std::uint32_t> rows;  // innermost first
    for (StackId at = shape.stack; at != kEmptyStack; at = dictionary.stacks[index(at)].caller)
      rows.push_back(index(dictionary.stacks[index(at)].row));
    ASSERT_GE(rows.size(), 2u) << i;
    for (std::size_t frame = 0; frame < rows.size() - 2; ++frame) {  // a part, and none of another's
      const std::size_t from_inner = 13 - rows.size() + frame;
      EXPECT_EQ(rows[frame], 2 + (i >> from_inner & 1)) << i;
    }
    whole += rows.size() == 13 ? 1 : 0;
  }
  EXPECT_EQ(requested, 100 * kStacks);
  EXPECT_EQ(decoder.folded().cut_stacks, kStacks - whole);
  EXPECT_LT(whole, kStacks);
  EXPECT_EQ(decoder.folded().sizes, 0u);
}

TEST(SpoolDecoder, TooManyShapesLoseTheirStackAndThenTheirSize) {
  Dictionary dictionary;
  for (std::size_t i = 0; i < 4; ++i) dictionary.rows.push_back(0x1000 + i);
  SpoolDecoder decoder(dictionary, {}, {.stacks = 1 << 20, .shapes = 300, .shapes_without_stack = 200});
  ThreadDecodeState state;
  EventBuffer events;
  state.open_chunk(0, 50);
  ASSERT_FALSE(decoder.decode(state, many_stacks(10, 400), events));
  std::uint64_t requested = 0, without_stack = 0, expected = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    const Shape& shape = dictionary.shapes[index(events[i].shape)];
    requested += shape.requested_bytes;
    without_stack += shape.stack == kEmptyStack ? 1 : 0;
    expected += 100 + i % 400;
  }
  EXPECT_LE(dictionary.shapes.size(), 300u + 200u + 32u);
  EXPECT_EQ(without_stack, decoder.folded().no_stacks);
  EXPECT_EQ(without_stack, 4000u - 300u);
  EXPECT_GT(decoder.folded().sizes, 0u);
  EXPECT_EQ(requested - decoder.folded().rounding_bytes, expected);
}

TEST(SpoolDecoder, FaultsAreFound) {
  const std::uint64_t good[] = {alloc0(0, 1), kMalloc | 0x1000, 8, 0};
  const struct {
    std::vector<std::uint64_t> words;
    const char* what;
  } cases[] = {
      {{0}, "a zero word"},
      {{26}, "unknown type"},
      {{alloc0(0, 1)}, "past the committed"},
      {{alloc0(0, 1), kMalloc, 8}, "past the committed"},
      {{alloc0(0, 8191), kMalloc, 8, 0}, "past the committed"},
      {{alloc0(2, 0), kMalloc, 8}, "keeps more frames"},
      {{alloc0(0, 1), kMalloc, 8, 4}, "id beyond the table"},
      {{alloc0(0, 1), 0, 8, 0}, "unknown entry point"},
      {{alloc0(0, 1), std::uint64_t{31} << W1::kApiShift, 8, 0}, "unknown entry point"},
      {{alloc0(0, 1), kMalloc | W1::kWeighted, 8, std::bit_cast<std::uint64_t>(0.5), 0}, "weight"},
      {{alloc0(0, 1), kMalloc | W1::kWeighted, 8, ~std::uint64_t{0}, 0}, "weight"},
      {{static_cast<std::uint64_t>(Op::Free)}, "unknown entry point"},
      {{static_cast<std::uint64_t>(Op::Free) | F0::kStamped | 1 << F0::kApiShift}, "past the committed"},
      {{static_cast<std::uint64_t>(Op::ThreadStart) | N0::kStamped, 1}, "past the committed"},
      {{static_cast<std::uint64_t>(Op::Map), 0, 1, 0, 0}, "unknown entry point"},
  };
  for (const auto& one : cases) {
    std::vector<std::uint64_t> words(std::begin(good), std::end(good));
    words.insert(words.end(), one.words.begin(), one.words.end());
    const Decoded result = decode(words);
    ASSERT_TRUE(result.damage) << one.what;
    EXPECT_NE(std::string(result.damage.what).find(one.what), std::string::npos) << result.damage.what;
    EXPECT_EQ(result.damage.word, 4u);
    EXPECT_EQ(result.events.size(), 1u);
  }
}

TEST(SpoolDecoder, StampsNeverGoBack) {
  const std::uint64_t free0 = static_cast<std::uint64_t>(Op::Free) | F0::kStamped | 1 << F0::kApiShift;
  const Decoded result = decode({free0, 100, free0, 90, free0, 110});
  ASSERT_FALSE(result.damage);
  EXPECT_EQ(result.events[1].stamp, 100u);
  EXPECT_EQ(result.events[2].stamp, 110u);
}

TEST(SpoolDecoder, AMoveHasAStampOfWhatGoesAndOneOfWhatComes) {
  const std::uint64_t move = static_cast<std::uint64_t>(Op::Map) | W0::kStamped | W0::kStampBefore;
  const std::uint64_t once = static_cast<std::uint64_t>(Op::Map) | W0::kStamped;
  const std::uint64_t mremap = static_cast<std::uint64_t>(MapApi::Mremap) << W1::kApiShift;
  const Decoded result = decode({move, mremap | 0x2000, 8, 100, 110, 0x1000, 4,  //
                                 once, mremap | 0x4000, 8, 120, 0x3000, 4});
  ASSERT_FALSE(result.damage) << result.damage.what;
  ASSERT_EQ(result.events.size(), 4u);
  const struct {
    EventKind kind;
    std::uint64_t address, stamp;
  } expected[] = {{EventKind::Unmap, 0x1000, 100},
                  {EventKind::Map, 0x2000, 110},
                  {EventKind::Unmap, 0x3000, 120},
                  {EventKind::Map, 0x4000, 120}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(result.events[i].kind, expected[i].kind) << i;
    EXPECT_EQ(result.events[i].address, expected[i].address) << i;
    EXPECT_EQ(result.events[i].stamp, expected[i].stamp) << i;
  }
}

TEST(SpoolDecoder, RandomDamageNeverCrashes) {
  TempDir dir;
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    {
      SpoolBuilder spool(dir / "a.spool");
      play({.threads = 2, .calls = 3'000, .seed = random()}, spool);
      const auto damage = [&](std::uint8_t* at, std::uint64_t bytes) {
        at[random() % bytes] ^= static_cast<std::uint8_t>(1 << random() % 8);
      };
      const std::uint32_t chunks = spool.header().chunk_count;
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t chunk = static_cast<std::uint32_t>(random() % chunks);
        if (round % 2 == 0) damage(spool.chunk(chunk), kChunkBytes);
        if (round % 3 == 0) damage(reinterpret_cast<std::uint8_t*>(&spool.control(chunk)), sizeof(ChunkControl));
        if (round % 5 == 0) damage(reinterpret_cast<std::uint8_t*>(&spool.header()) + 16, sizeof(SpoolHeader) - 16);
      }
    }
    auto opened = open_trace(dir / "a.spool");
    if (!opened) continue;
    struct : EventSink {
      void consume(std::span<const Event> events) override { count += events.size(); }
      std::uint64_t count = 0;
    } sink;
    const Status status = opened->replay_into(sink);
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(sink.count, opened->event_count());
  }
}

}  // namespace
}  // namespace tare::test
