#include "core/snapshot/heap_scan.h"

#include <gtest/gtest.h>

#include "fake_heap.h"

namespace tare::core {
namespace {

using test::FakeHeap;
using trace::BlockContent;
using trace::Observation;
using trace::Reach;

constexpr std::uint64_t kGlobals = 0x400000;

std::vector<Observation> observe(FakeHeap& heap) {
  HeapScan scan(heap.blocks(), heap, Links::Find);
  std::vector<Observation> seen = scan.scan_blocks();
  scan.scan_root({kGlobals, kGlobals + 64});
  scan.mark(seen);
  return seen;
}

TEST(HeapScan, CountsPointersOfBothKinds) {
  FakeHeap heap;
  heap.region(kGlobals, 64);
  const std::uint64_t a = heap.block(64);
  const std::uint64_t b = heap.block(100);
  heap.word(a, b);
  heap.word(a + 8, b + 50);
  heap.word(a + 16, b + 104);  // behind it: the next block's header
  heap.word(a + 24, a);
  heap.word(a + 32, 12345);
  const auto seen = observe(heap);
  EXPECT_EQ(seen[0].start_pointers, 2u);
  EXPECT_EQ(seen[0].interior_pointers, 1u);
  EXPECT_EQ(seen[1].start_pointers, 0u);
}

// The processor of aarch64 ignores the top byte of a pointer, that of x86-64 doesn't.
TEST(HeapScan, IgnoresATagWhereTheProcessorDoes) {
  FakeHeap heap;
  heap.region(kGlobals, 64);
  const std::uint64_t a = heap.block(64);
  const std::uint64_t b = heap.block(64);
  constexpr std::uint64_t kTag = std::uint64_t{0xb4} << 56;
  constexpr std::uint64_t kBelowTheTag = std::uint64_t{1} << 55;
  heap.word(kGlobals, a | kTag);
  heap.word(a, b | kTag);
  heap.word(a + 8, (b + 8) | kTag);
  heap.word(a + 16, b | kBelowTheTag);
#if defined(__aarch64__)
  constexpr std::uint32_t kPointers = 1;
  constexpr Reach kReach = Reach::Start;
#else
  constexpr std::uint32_t kPointers = 0;
  constexpr Reach kReach = Reach::None;
#endif
  const auto seen = observe(heap);
  EXPECT_EQ(seen[0].start_pointers, kPointers);
  EXPECT_EQ(seen[0].interior_pointers, kPointers);
  EXPECT_EQ(seen[0].reach, kReach);
  EXPECT_EQ(seen[1].reach, kReach);
}

TEST(HeapScan, SaysHowFarFilledBlocksWereWritten) {
  using trace::ContentTable;
  using trace::ContentWord;
  FakeHeap heap;
  heap.region(kGlobals, 64);
  const std::uint64_t filled = heap.block(64);
  const std::uint64_t zeroed = heap.block(64);
  const std::uint64_t unknown = heap.block(64);
  for (std::uint64_t at = 0; at < 64; at += 8) heap.word(filled + at, trace::kFillWord);
  heap.word(filled + 8, 1);
  heap.word(zeroed + 16, 7);
  // The program's table: a pointer to the leaf, and in it a word a block.
  constexpr std::uint64_t kTable = 0x10000000, kLeaf = 0x20000000;
  const std::uint64_t entry = kTable + ContentTable::leaf_of(filled) * 8;
  heap.region(entry, 8);
  heap.word(entry, kLeaf);
  heap.region(kLeaf, ContentTable::kLeafWords * 4);
  const auto know = [&](std::uint64_t block, trace::ContentOrigin origin) {
    // a word of 4 bytes; the block of the next unit begins elsewhere
    heap.word(kLeaf + ContentTable::word_of(block) * 4, ContentWord{origin, 0, 0}.bits());
  };
  know(filled, trace::ContentOrigin::Filled);
  know(zeroed, trace::ContentOrigin::Zeroed);
  ContentWords words(heap, kTable);
  HeapScan scan(heap.blocks(), heap, Links::Find);
  scan.use(words);
  const std::vector<Observation> seen = scan.scan_blocks();
  EXPECT_EQ(seen[0].high_water_bytes, 16u);  // all of the word was written, its zeros too
  EXPECT_EQ(seen[1].high_water_bytes, 17u);  // of zeros nobody knows
  EXPECT_EQ(seen[2].high_water_bytes, std::nullopt);
  EXPECT_EQ(seen[2].address, unknown);
}

TEST(HeapScan, MarksFromRootsAndTellsInteriorApart) {
  FakeHeap heap;
  heap.region(kGlobals, 64);
  const std::uint64_t held = heap.block(32);
  const std::uint64_t behind_held = heap.block(32);
  const std::uint64_t by_middle = heap.block(32);
  const std::uint64_t behind_middle = heap.block(32);
  heap.block(32);  // nothing points to it
  heap.word(kGlobals + 8, held);
  heap.word(held, behind_held);
  heap.word(kGlobals + 16, by_middle + 8);
  heap.word(by_middle, behind_middle);
  const auto seen = observe(heap);
  EXPECT_EQ(seen[0].reach, Reach::Start);
  EXPECT_EQ(seen[1].reach, Reach::Start);
  EXPECT_EQ(seen[2].reach, Reach::Interior);
  EXPECT_EQ(seen[3].reach, Reach::Interior);  // its own pointer is to a start, but the way to it isn't
  EXPECT_EQ(seen[4].reach, Reach::None);
}

TEST(HeapScan, HangsLeaksOnTheirRoots) {
  FakeHeap heap;
  heap.region(kGlobals, 64);
  const std::uint64_t tail = heap.block(32);
  const std::uint64_t head = heap.block(32);
  const std::uint64_t ring_a = heap.block(32);
  const std::uint64_t ring_b = heap.block(32);
  const std::uint64_t self = heap.block(32);
  const std::uint64_t held = heap.block(32);
  heap.word(kGlobals, held);
  heap.word(head, tail);
  heap.word(ring_a, ring_b);
  heap.word(ring_b, ring_a);
  heap.word(self, self);
  heap.word(head + 8, held);  // a leak that points to a live block doesn't keep it, nor make it a leak
  const auto seen = observe(heap);
  EXPECT_EQ(seen[0].leak_root, 1u);
  EXPECT_EQ(seen[1].leak_root, 1u);
  EXPECT_EQ(seen[2].leak_root, 2u);  // a ring hangs on its first
  EXPECT_EQ(seen[3].leak_root, 2u);
  EXPECT_EQ(seen[4].leak_root, 4u);
  EXPECT_EQ(seen[5].leak_root, trace::kNoObservation);
}

TEST(HeapScan, ReadsBlocksOfAllSizes) {
  FakeHeap heap;
  const std::uint64_t small = heap.block(10);
  const std::uint64_t large = heap.block(3 << 20);
  const std::uint64_t same = heap.block(3 << 20);
  const std::uint64_t behind = heap.block(10);
  heap.text(small, "0123456789");
  heap.text(behind, "0123456789");
  heap.word(large + (2 << 20), behind);
  heap.word(same + (2 << 20), behind);
  const auto seen = observe(heap);
  EXPECT_EQ(seen[0].content, BlockContent::Text);
  EXPECT_EQ(seen[0].digest, seen[3].digest);
  EXPECT_EQ(seen[1].content, BlockContent::Other);
  EXPECT_EQ(seen[1].digest, seen[2].digest);
  EXPECT_EQ(seen[1].start_pointers, 1u);
}

TEST(HeapScan, SaysWhatItCouldntRead) {
  FakeHeap heap;
  const std::uint64_t first = heap.block(64);
  heap.add(0x700000000000, 5 << 20);
  heap.text(first, "there");
  heap.forget_memory(0x700000000000);
  HeapScan scan(heap.blocks(), heap, Links::Find);
  const auto seen = scan.scan_blocks();
  EXPECT_EQ(seen[0].content, BlockContent::Text);
  EXPECT_EQ(seen[1].content, BlockContent::Unread);
  EXPECT_EQ(scan.unread_bytes(), std::uint64_t{5 << 20});
}

TEST(HeapScan, LeavesBlocksOutOfRoots) {
  FakeHeap heap;
  const std::uint64_t a = heap.block(32);
  const std::uint64_t b = heap.block(32);
  heap.word(a, b);
  HeapScan scan(heap.blocks(), heap, Links::Find);
  auto seen = scan.scan_blocks();
  scan.scan_root({a - 16, b + 4096});  // a heap that the program mapped itself: its blocks aren't roots
  scan.mark(seen);
  EXPECT_EQ(seen[0].reach, Reach::None);
  EXPECT_EQ(seen[1].reach, Reach::None);
}

}  // namespace
}  // namespace tare::core
