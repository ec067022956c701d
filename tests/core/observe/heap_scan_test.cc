#include "core/observe/heap_scan.h"

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
