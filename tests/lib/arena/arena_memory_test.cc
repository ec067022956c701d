// Arenas over the allocator that runs, and over a cage.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>

#include "lib/support/process_memory.h"
#include "lib/support/sanitized.h"
#include "tare/arena.h"
#include "tare/cage.h"

namespace tare {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// malloc's own figures for each chunk that the arena asks for.
struct Watched {
  static inline std::size_t requested = 0;
  static inline std::size_t slop = 0;
  static ArenaSource source() {
    ArenaSource watched = malloc_source();
    watched.allocate = [](void* context, std::size_t bytes) noexcept {
      void* memory = malloc_source().allocate(context, bytes);
      requested += bytes;
      slop += malloc_usable_size(memory) - bytes;
      return memory;
    };
    return watched;
  }
};

TEST(ArenaMemory, TheAllocatorThatRunsHasNothingToAdd) {
  Arena arena(ArenaOptions{.source = Watched::source()});
  for (std::size_t i = 0; i < 20'000; ++i) {
    char* memory = static_cast<char*>(arena.allocate(1 + i % 500));
    ASSERT_NE(memory, nullptr);
    *memory = 1;
  }
  EXPECT_GT(Watched::requested, 4 * kMiB);
  // glibc gives 8 or 16 bytes more where the rest of a free chunk is too small to be one.
  EXPECT_LE(Watched::slop, 16 * arena.use().chunks);
}

TEST(ArenaMemory, WhatIsTakenBackLeavesTheProcess) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed blocks";
  CageResult<Cage> cage = Cage::reserve({.size_bytes = 256 * kMiB});
  ASSERT_TRUE(cage);
  Arena arena(ArenaOptions{.source = cage_source(cage.value())});
  const std::size_t before = process_memory_bytes("Rss:");
  const Arena::Mark mark = arena.mark();
  for (std::size_t i = 0; i < 32 * kMiB / 1000; ++i) std::memset(arena.allocate(1000), 1, 1000);
  EXPECT_GT(process_memory_bytes("Rss:"), before + 31 * kMiB);
  EXPECT_GE(cage.value().resident_bytes(), 31 * kMiB);
  arena.rewind(mark);
  EXPECT_LT(process_memory_bytes("Rss:"), before + kMiB);
  EXPECT_EQ(cage.value().use().used_bytes, 0u);
}

TEST(ArenaMemory, ACageThatIsFullIsNoMemory) {
  CageResult<Cage> cage = Cage::reserve({.size_bytes = kMiB, .least_bytes = kMiB});
  ASSERT_TRUE(cage);
  Arena arena(ArenaOptions{.source = cage_source(cage.value())});
  std::size_t got = 0;
  while (arena.allocate(1000) != nullptr) got += 1000;
  EXPECT_GT(got, kMiB * 8 / 10);
  EXPECT_LT(got, kMiB);
  EXPECT_EQ(arena.use().committed_bytes, cage.value().use().used_bytes);
}

}  // namespace
}  // namespace tare
