// The memory of a cage, by the kernel's own count.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "lib/support/process_memory.h"
#include "lib/support/sanitized.h"
#include "tare/cage.h"

namespace tare {
namespace {

constexpr std::size_t kMemoryMiB = std::size_t{1} << 20;

// Without huge pages, so that every page counts alone on any machine.
Cage small_cage() {
  return std::move(Cage::reserve({.size_bytes = 256 * kMemoryMiB, .huge_pages = HugePages::Avoid}).value());
}

PageRun filled(Cage& cage, std::size_t size_bytes) {
  const PageRun run = cage.allocate(size_bytes).value();
  std::memset(run.data, 1, run.size_bytes);
  return run;
}

// Resident memory may move by this for reasons of the program's own.
constexpr std::size_t kNoise = kMemoryMiB;

TEST(CageMemory, ReservingTouchesNothing) {
  ASSERT_TRUE(Cage::reserve());  // the code's own pages come in with the first
  const std::size_t before = process_memory_bytes("Rss:");
  ASSERT_NE(before, 0u);
  CageResult<Cage> made = Cage::reserve();
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value().resident_bytes(), 0u);
  if (!kSanitized) {
    EXPECT_LT(process_memory_bytes("Rss:"), before + kNoise);
  }
  const PageRun run = made.value().allocate(64 * kMemoryMiB).value();
  EXPECT_EQ(made.value().resident_bytes(), 0u) << "allocating alone makes nothing resident";
  EXPECT_EQ(made.value().use().used_bytes, run.size_bytes);
  EXPECT_GE(made.value().use().committed_bytes, run.size_bytes);
}

TEST(CageMemory, ReturnedPagesLeaveTheProcess) {
  Cage cage = small_cage();
  const std::size_t before = process_memory_bytes("Rss:");
  const PageRun run = filled(cage, 64 * kMemoryMiB);
  EXPECT_EQ(cage.resident_bytes(), 64 * kMemoryMiB);
  EXPECT_GT(process_memory_bytes("Rss:"), before + 64 * kMemoryMiB - kNoise);
  cage.free(run);
  EXPECT_EQ(cage.resident_bytes(), 0u);
  if (!kSanitized) {
    EXPECT_LT(process_memory_bytes("Rss:"), before + kNoise);
  }
  EXPECT_EQ(cage.use().kept_bytes, 0u);
}

TEST(CageMemory, KeptPagesStayUntilTheyAreTrimmed) {
  Cage cage = small_cage();
  const PageRun first = filled(cage, 8 * kMemoryMiB);
  const PageRun second = filled(cage, 8 * kMemoryMiB);
  cage.free(first, FreedPages::Keep);
  EXPECT_EQ(cage.use().kept_bytes, 8 * kMemoryMiB);
  EXPECT_EQ(cage.resident_bytes(), 16 * kMemoryMiB);
  const PageRun again = cage.allocate(4 * kMemoryMiB).value();
  EXPECT_EQ(again.contents, PageRun::Contents::Stale);
  EXPECT_EQ(again.data, first.data);
  EXPECT_EQ(cage.trim(), 4 * kMemoryMiB);
  EXPECT_EQ(cage.use().kept_bytes, 0u);
  EXPECT_EQ(cage.resident_bytes(), 12 * kMemoryMiB);
  cage.free(second, FreedPages::Keep);
  cage.free(again, FreedPages::Keep);
  EXPECT_EQ(cage.trim(), 16 * kMemoryMiB) << "neighbours that were clean already are counted with them";
  EXPECT_EQ(cage.resident_bytes(), 0u);
  EXPECT_EQ(cage.use().largest_free_bytes, cage.size_bytes() - cage.page_bytes());
}

TEST(CageMemory, TrimmingMayLeaveSome) {
  Cage cage = small_cage();
  const PageRun first = filled(cage, 2 * kMemoryMiB);
  const PageRun between = filled(cage, kMemoryMiB);
  const PageRun second = filled(cage, 4 * kMemoryMiB);
  cage.free(first, FreedPages::Keep);
  cage.free(second, FreedPages::Keep);
  EXPECT_EQ(cage.trim(3 * kMemoryMiB), 3 * kMemoryMiB);
  EXPECT_EQ(cage.resident_bytes(), between.size_bytes + 3 * kMemoryMiB);
  EXPECT_EQ(cage.trim(64 * kMemoryMiB), 0u);
  EXPECT_EQ(cage.trim(), 6 * kMemoryMiB);
  EXPECT_EQ(cage.resident_bytes(), between.size_bytes);
}

TEST(CageMemory, DecommittedAndDiscardedPagesAreNotResident) {
  Cage cage = small_cage();
  const PageRun run = filled(cage, 8 * kMemoryMiB);
  const std::size_t committed = cage.use().committed_bytes;
  ASSERT_TRUE(cage.decommit(run.data + kMemoryMiB, 2 * kMemoryMiB));
  EXPECT_EQ(cage.use().committed_bytes, committed - 2 * kMemoryMiB);
  EXPECT_EQ(cage.resident_bytes(), 6 * kMemoryMiB);
  ASSERT_TRUE(cage.decommit(run.data + kMemoryMiB, 2 * kMemoryMiB)) << "twice is once";
  EXPECT_EQ(cage.use().committed_bytes, committed - 2 * kMemoryMiB);
  ASSERT_TRUE(cage.commit(run.data, 4 * kMemoryMiB));
  EXPECT_EQ(cage.use().committed_bytes, committed);
  EXPECT_EQ(run.data[kMemoryMiB], std::byte{0});
  EXPECT_EQ(run.data[kMemoryMiB - 1], std::byte{1}) << "what was accessible keeps its contents";
  cage.discard(run.data + 4 * kMemoryMiB, 4 * kMemoryMiB);
  EXPECT_EQ(cage.resident_bytes(), 2 * kMemoryMiB + 4096);
  EXPECT_EQ(run.data[5 * kMemoryMiB], std::byte{0});
}

TEST(CageMemory, RunsMayBeFreedWhileDecommitted) {
  Cage cage = small_cage();
  const PageRun run = filled(cage, 8 * kMemoryMiB);
  ASSERT_TRUE(cage.decommit(run.data, run.size_bytes));
  cage.free(run, FreedPages::Keep);
  const PageRun again = filled(cage, 8 * kMemoryMiB);
  EXPECT_EQ(again.data, run.data);
  EXPECT_EQ(again.contents, PageRun::Contents::Zero);
}

TEST(CageMemory, BooksGrowWithUse) {
  const std::size_t before = process_memory_bytes("Rss:");
  Cage cage = std::move(Cage::reserve().value());
  std::vector<PageRun> runs;
  for (int i = 0; i < 1000; ++i) runs.push_back(cage.allocate(4096).value());
  // 16 bytes a page: 16 KB of books for 1,000 runs.
  if (!kSanitized) {
    EXPECT_LT(process_memory_bytes("Rss:"), before + 256 * 1024);
  }
  EXPECT_EQ(cage.resident_bytes(), 0u);
}

TEST(CageMemory, ASmallCageCostsLittleWhereHugePagesAreTheDefault) {
  Cage cage = std::move(Cage::reserve().value());
  const PageRun run = cage.allocate(4096).value();
  run.data[0] = std::byte{1};
  EXPECT_EQ(cage.resident_bytes(), 4096u);
  EXPECT_LE(cage.use().committed_bytes, 128u * 1024) << "a stretch of 2 MiB could become one page";
}

TEST(CageMemory, HugePagesAreAHint) {
  for (const HugePages huge : {HugePages::Prefer, HugePages::Avoid, HugePages::System}) {
    CageResult<Cage> made =
        Cage::reserve({.size_bytes = 64 * kMemoryMiB, .alignment_bytes = 2 * kMemoryMiB, .huge_pages = huge});
    ASSERT_TRUE(made);
    const PageRun run = made.value().allocate(4 * kMemoryMiB, 2 * kMemoryMiB).value();
    run.data[0] = std::byte{1};
    EXPECT_GE(made.value().resident_bytes(), 4096u);
    if (huge == HugePages::Avoid) {
      EXPECT_EQ(made.value().resident_bytes(), 4096u);
    }
  }
}

}  // namespace
}  // namespace tare
