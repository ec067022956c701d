// Blocks of an arena, and its requests to its source, in the size classes of every known allocator.
#include "tare/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lib/support/sanitized.h"
#include "model_source.h"

namespace tare {

void PrintTo(const SizeModel& model, std::ostream* to) { *to << model.name; }

namespace {

class ArenaOfModel : public ::testing::TestWithParam<SizeModel> {
 protected:
  ModelSource chunks{GetParam()};
  Arena arena{ArenaOptions{.source = chunks.source()}};
};
std::string test_name(const ::testing::TestParamInfo<SizeModel>& tested) {
  std::string name(tested.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(SizeModels, ArenaOfModel, ::testing::ValuesIn(kSizeModels), test_name);

struct Live {
  std::size_t bytes;
  unsigned char mark;
};

// Random blocks and marks against a map of live ranges, each filled with a byte of its own.
TEST_P(ArenaOfModel, BlocksDontOverlapAndSurviveRewinds) {
  std::mt19937 random(1);
  std::map<std::uintptr_t, Live> live;
  struct Moment {
    Arena::Mark mark;
    std::map<std::uintptr_t, Live> live;
    ArenaUse use;
  };
  std::vector<Moment> moments;
  for (int step = 0; step < 4000; ++step) {
    const std::size_t dice = random() % 100;
    if (dice < 90) {
      const std::size_t most = dice < 80 ? 100 : dice < 88 ? 3000 : 200'000;
      const std::size_t bytes = random() % most;
      const std::size_t alignment = std::size_t{1} << (dice < 85 ? random() % 5 : random() % 13);
      void* memory = arena.allocate(bytes, alignment);
      ASSERT_NE(memory, nullptr);
      const auto at = reinterpret_cast<std::uintptr_t>(memory);
      ASSERT_EQ(at % alignment, 0u);
      const std::size_t taken = std::max<std::size_t>(bytes, 1);
      const auto after = live.lower_bound(at);
      if (after != live.end()) {
        ASSERT_LE(at + taken, after->first);
      }
      if (after != live.begin()) {
        ASSERT_LE(std::prev(after)->first + std::prev(after)->second.bytes, at);
      }
      const auto mark = static_cast<unsigned char>(random());
      std::memset(memory, mark, taken);
      live[at] = {taken, mark};
    } else if (dice < 96) {
      moments.push_back({arena.mark(), live, arena.use()});
    } else if (!moments.empty()) {
      const std::size_t which = random() % moments.size();
      arena.rewind(moments[which].mark);
      live = moments[which].live;
      ASSERT_EQ(arena.use().used_bytes, moments[which].use.used_bytes);
      ASSERT_EQ(arena.use().committed_bytes, moments[which].use.committed_bytes);
      ASSERT_EQ(arena.use().room_bytes, moments[which].use.room_bytes);
      moments.resize(which);
    }
    const ArenaUse use = arena.use();
    ASSERT_EQ(use.committed_bytes, chunks.live_bytes());
    ASSERT_EQ(use.chunks, chunks.live().size());
    ASSERT_EQ(use.committed_bytes, use.header_bytes + use.used_bytes + use.slack_bytes);
    ASSERT_LE(use.room_bytes, use.slack_bytes);
  }
  for (const auto& [at, one] : live) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(at);
    ASSERT_TRUE(std::all_of(bytes, bytes + one.bytes, [&](unsigned char b) { return b == one.mark; }));
  }
  arena.reset(ArenaReset::Drop);
  EXPECT_TRUE(chunks.live().empty());
  EXPECT_EQ(chunks.wrong_frees(), 0);
}

TEST_P(ArenaOfModel, NoRequestHasSlopThatCouldBeAvoided) {
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) ASSERT_NE(arena.allocate(1 + random() % 64), nullptr);
  for (int i = 0; i < 300; ++i) ASSERT_NE(arena.allocate(random() % 100'000), nullptr);
  for (int shift = 5; shift < 22; ++shift) {
    for (const int around : {-17, -16, -9, -8, -1, 0, 1, 8, 16}) {
      ASSERT_NE(arena.allocate(static_cast<std::size_t>((1 << shift) + around)), nullptr);
    }
  }
  ASSERT_GT(chunks.requests().size(), 100u);
  for (const std::size_t request : chunks.requests()) {
    const SizeClass served = size_class(GetParam(), request);
    ASSERT_EQ(request, served.capacity_bytes) << "more could be had for the same price";
    ASSERT_FALSE(is_clownshoe(GetParam(), request));
  }
}

TEST_P(ArenaOfModel, LargePowersOfTwoCostThemselves) {
  ASSERT_NE(arena.allocate(1), nullptr);
  for (int shift = 16; shift < 24; ++shift) {
    const std::size_t bytes = std::size_t{1} << shift;
    ASSERT_NE(arena.allocate(bytes), nullptr);
    EXPECT_EQ(chunks.requests().back(), good_size(GetParam(), bytes)) << "no books are added to " << bytes;
  }
}

TEST_P(ArenaOfModel, SmallBlocksLeaveNoMoreThanAQuarterBehind) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) ASSERT_NE(arena.allocate(1 + random() % 2000, 1), nullptr);
  const ArenaUse use = arena.use();
  EXPECT_LE(use.slack_bytes - use.room_bytes, use.committed_bytes / 4);
  EXPECT_LE(use.header_bytes, use.committed_bytes / 50);
}

TEST_P(ArenaOfModel, FailureLeavesTheArenaAsItWas) {
  auto* number = arena.make<int>(42);
  ASSERT_NE(number, nullptr);
  const ArenaUse before = arena.use();
  chunks.fail_from_now_on(true);
  EXPECT_EQ(arena.allocate(100'000), nullptr);
  EXPECT_EQ(arena.make_array<int>(100'000), nullptr);
  EXPECT_EQ(arena.copy(std::string(100'000, 'x')).data(), nullptr);
  EXPECT_EQ(arena.use().committed_bytes, before.committed_bytes);
  EXPECT_EQ(arena.use().used_bytes, before.used_bytes);
  EXPECT_NE(arena.allocate(16), nullptr) << "what is there can still be had";
  chunks.fail_from_now_on(false);
  EXPECT_NE(arena.allocate(100'000), nullptr);
  EXPECT_EQ(*number, 42);
}

TEST(Arena, AbsurdSizesAreRefused) {
  Arena arena;
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, SIZE_MAX / 2 + 1, kLargestRequest}) {
    EXPECT_EQ(arena.allocate(bytes), nullptr) << bytes;
    EXPECT_EQ(arena.allocate(bytes, 1), nullptr) << bytes;
  }
  EXPECT_EQ(arena.allocate(8, std::size_t{1} << 63), nullptr);
  EXPECT_EQ(arena.make_array<std::uint64_t>(SIZE_MAX / 8 + 1), nullptr) << "the product overflows";
  EXPECT_EQ(arena.make_array<std::uint64_t>(SIZE_MAX / 4), nullptr);
  EXPECT_EQ(arena.use().committed_bytes, 0u);
  EXPECT_NE(arena.allocate(8), nullptr);
}

TEST(Arena, MakesObjectsArraysAndCopies) {
  struct Point {
    int x, y;
    Point(int a, int b) : x(a), y(b) {}
  };
  Arena arena;
  const auto* point = arena.make<Point>(3, 4);
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(point->x + point->y, 7);
  const int* zeros = arena.make_array<int>(500);
  ASSERT_NE(zeros, nullptr);
  EXPECT_TRUE(std::all_of(zeros, zeros + 500, [](int z) { return z == 0; }));
  EXPECT_NE(arena.make_array<int>(0), nullptr);
  const std::string_view copy = arena.copy("tare");
  EXPECT_EQ(copy, "tare");
  EXPECT_EQ(copy.data()[4], '\0');
  EXPECT_EQ(arena.copy("").size(), 0u);
  EXPECT_NE(arena.copy("").data(), nullptr);
  struct alignas(128) Wide {
    char bytes[128];
  };
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.make<Wide>()) % 128, 0u);
}

TEST(Arena, AnEmptyOneCostsNothing) {
  ModelSource chunks(size_models::glibc);
  const Arena arena(ArenaOptions{.source = chunks.source()});
  EXPECT_TRUE(chunks.requests().empty());
  EXPECT_EQ(arena.use().committed_bytes, 0u);
}

TEST(Arena, ChunksGrowWithTheArena) {
  ModelSource chunks(size_models::jemalloc);
  Arena arena(ArenaOptions{.source = chunks.source()});
  for (int i = 0; i < 100'000; ++i) ASSERT_NE(arena.allocate(32), nullptr);
  EXPECT_EQ(chunks.requests().front(), 1024u);
  EXPECT_EQ(chunks.requests().back(), 64u * 1024);
  EXPECT_LT(chunks.requests().size(), 70u);
  const ArenaUse use = arena.use();
  EXPECT_EQ(use.used_bytes, 3'200'000u);
  EXPECT_LT(use.slack_bytes, 66u * 1024);
}

TEST(Arena, LargeBlocksGetTheirOwnAndDontEndTheChunk) {
  ModelSource chunks(size_models::jemalloc);
  Arena arena(ArenaOptions{.source = chunks.source()});
  const auto* first = static_cast<const char*>(arena.allocate(100));
  ASSERT_NE(arena.allocate(5000), nullptr);
  const auto* second = static_cast<const char*>(arena.allocate(100));
  EXPECT_EQ(first - second, 128) << "the chunk goes on, behind the large block's books";
  EXPECT_EQ(chunks.requests().size(), 2u);
}

TEST(Arena, EmptyChunksGoBack) {
  ModelSource chunks(size_models::jemalloc);
  Arena arena(ArenaOptions{.source = chunks.source()});
  ASSERT_NE(arena.allocate(10), nullptr);
  const Arena::Mark mark = arena.mark();
  ASSERT_NE(arena.allocate(1'000'000), nullptr);
  for (int i = 0; i < 1000; ++i) ASSERT_NE(arena.allocate(100), nullptr);
  EXPECT_GE(chunks.live().size(), 3u);
  arena.rewind(mark);
  EXPECT_EQ(chunks.live().size(), 1u);
  arena.rewind(mark);
  arena.rewind(Arena().mark());
  EXPECT_TRUE(chunks.live().empty()) << "a mark of an empty arena is before everything";
}

TEST(Arena, ResetKeepsTheLargestOrDropsAll) {
  ModelSource chunks(size_models::jemalloc);
  Arena arena(ArenaOptions{.source = chunks.source()});
  const auto fill = [&] {
    for (int i = 0; i < 2000; ++i) ASSERT_NE(arena.allocate(100), nullptr);
  };
  fill();
  arena.reset(ArenaReset::Keep);
  EXPECT_EQ(chunks.live().size(), 1u);
  EXPECT_EQ(arena.use().committed_bytes, 64u * 1024);
  EXPECT_EQ(arena.use().used_bytes, 0u);
  const std::size_t requests = chunks.requests().size();
  for (int i = 0; i < 500; ++i) ASSERT_NE(arena.allocate(100), nullptr);
  EXPECT_EQ(chunks.requests().size(), requests) << "what was kept is used again";
  fill();
  arena.reset(ArenaReset::Drop);
  EXPECT_TRUE(chunks.live().empty());
  arena.reset(ArenaReset::Keep);
  EXPECT_EQ(arena.use().committed_bytes, 0u);
}

TEST(Arena, MovesTakeTheChunksAlong) {
  ModelSource chunks(size_models::jemalloc);
  Arena first(ArenaOptions{.source = chunks.source()});
  auto* number = first.make<int>(7);
  Arena second = std::move(first);
  EXPECT_EQ(second.use().chunks, 1u);
  // empty, and of use  NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  EXPECT_EQ(first.use().chunks, 0u);
  ASSERT_NE(first.make<int>(8), nullptr);
  first = std::move(second);
  EXPECT_EQ(*number, 7);
  EXPECT_EQ(chunks.live().size(), 2u);
}

#ifndef NDEBUG
TEST(ArenaDeath, MarksOfLaterMomentsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Arena arena;
  const Arena::Mark early = arena.mark();
  ASSERT_NE(arena.allocate(10), nullptr);
  const Arena::Mark late = arena.mark();
  arena.rewind(early);
  EXPECT_DEATH(arena.rewind(late), "newest_ != nullptr");
}
#endif

TEST(ArenaDeath, TheAddressSanitizerSeesUseAfterRewind) {
  if (!kAddressSanitized) GTEST_SKIP() << "needs the address sanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Arena arena;
  auto* kept = arena.make_array<char>(64);
  const Arena::Mark mark = arena.mark();
  auto* gone = arena.make_array<char>(64);
  EXPECT_DEATH(gone[-16] = 1, "use-after-poison") << "never handed out";
  arena.rewind(mark);
  kept[0] = 1;
  EXPECT_DEATH(gone[8] = 1, "use-after-poison");
  arena.reset(ArenaReset::Keep);
  EXPECT_DEATH(kept[0] = 1, "use-after-poison");
}

}  // namespace
}  // namespace tare
