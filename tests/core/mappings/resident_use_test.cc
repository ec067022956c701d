// Owners of anonymous memory: what the program has mapped, what has blocks, stacks, and the rest.
#include "core/mappings/resident_use.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

using trace::MemoryReading;
using trace::RangeKind;

constexpr auto kUnseen = HeapMapping::Unseen;

trace::RowId row_of(trace::StackId stack) { return static_cast<trace::RowId>(trace::index(stack) / 10); }

// One block, or none.
HeapFacts block_at(std::uint64_t address, std::uint64_t block_end) {
  return {[=](std::uint64_t start, std::uint64_t end) { return start < block_end && address < end; }, row_of};
}
const HeapFacts kNoBlocks = block_at(0, 0);

MemoryReading one(trace::ResidentPiece piece) {
  MemoryReading reading;
  reading.pieces.push_back(piece);
  return reading;
}

TEST(ResidentUse, MemoryThatTheProgramMappedIsItsOwn) {
  Mappings mappings;
  mappings.map(0x10000, 0x8000, static_cast<trace::StackId>(1));
  mappings.map(0x18000, 0x8000, static_cast<trace::StackId>(2));
  const ResidentUse use =
      resident_use(one({0x10000, 0x10000, 0x5000, RangeKind::AboveGuard}), mappings, kUnseen, kNoBlocks);
  EXPECT_EQ(use.mapping_bytes, 0x5000u);
  EXPECT_EQ(use.mapping_spread, 0u);
  EXPECT_EQ(use.heap_bytes, 0u);
  EXPECT_EQ(use.mapped.at(1).accessible_bytes, 0x8000u);
  EXPECT_EQ(use.mapped.at(1).resident_bytes, 0x2800u);
  EXPECT_EQ(use.mapped.at(2).resident_bytes, 0x2800u);
}

TEST(ResidentUse, OfASharedRangeOnlyBoundsAreKnown) {
  Mappings mappings;
  mappings.map(0x10000, 0x4000);
  const ResidentUse half =
      resident_use(one({0x10000, 0x8000, 0x4000, RangeKind::Anonymous}), mappings, kUnseen, kNoBlocks);
  EXPECT_EQ(half.mapping_bytes, 0x2000u);
  EXPECT_EQ(half.heap_bytes, 0x2000u);
  EXPECT_EQ(half.mapping_spread, 0x4000u);
  const ResidentUse full =
      resident_use(one({0x10000, 0x8000, 0x8000, RangeKind::Anonymous}), mappings, kUnseen, kNoBlocks);
  EXPECT_EQ(full.mapping_bytes, 0x4000u);
  EXPECT_EQ(full.mapping_spread, 0u);
}

TEST(ResidentUse, BlocksMakeARangeHeap) {
  const HeapFacts has_block = block_at(0x10010, 0x20000);
  EXPECT_EQ(resident_use(one({0x10000, 0x10000, 0x3000, RangeKind::Anonymous}), {}, kUnseen, has_block).heap_bytes,
            0x3000u);
  EXPECT_EQ(resident_use(one({0x30000, 0x10000, 0x3000, RangeKind::Anonymous}), {}, kUnseen, has_block).other_bytes,
            0x3000u);
  EXPECT_EQ(resident_use(one({0x30000, 0x10000, 0x3000, RangeKind::Break}), {}, kUnseen, kNoBlocks).heap_bytes,
            0x3000u);
  EXPECT_EQ(resident_use(one({64 << 20, 0x21000, 0x3000, RangeKind::Anonymous}), {}, kUnseen, kNoBlocks).heap_bytes,
            0x3000u);
}

TEST(ResidentUse, AnotherAllocatorMapsAsTheProgramDoes) {
  Mappings mappings;
  mappings.map(0x10000, 0x200000);
  const HeapFacts has_block = block_at(0x90000, 0x90010);
  const trace::ResidentPiece piece{0x10000, 0x200000, 0x3000, RangeKind::Anonymous};
  EXPECT_EQ(resident_use(one(piece), mappings, HeapMapping::Seen, has_block).heap_bytes, 0x3000u);
  EXPECT_EQ(resident_use(one(piece), mappings, HeapMapping::Seen, kNoBlocks).mapping_bytes, 0x3000u);
  EXPECT_EQ(resident_use(one(piece), mappings, kUnseen, has_block).heap_bytes, 0x3000u);  // a described allocator's
  EXPECT_EQ(resident_use(one(piece), mappings, kUnseen, kNoBlocks).mapping_bytes, 0x3000u);
}

// Stacks 11 and 12 end in one call, 21 in another.
TEST(ResidentUse, AllMappingsOfAnAllocatorsCallAreTheAllocators) {
  Mappings mappings;
  mappings.map(0x10000, 0x10000, static_cast<trace::StackId>(11));
  mappings.map(0x20000, 0x10000, static_cast<trace::StackId>(12));
  mappings.map(0x30000, 0x10000, static_cast<trace::StackId>(21));
  MemoryReading reading = one({0x10000, 0x30000, 0x30000, RangeKind::Anonymous});
  const ResidentUse use = resident_use(reading, mappings, kUnseen, block_at(0x15000, 0x15010));
  EXPECT_EQ(use.heap_bytes, 0x20000u);
  EXPECT_EQ(use.mapping_bytes, 0x10000u);
  EXPECT_EQ(use.mapped.size(), 1u);
  EXPECT_EQ(use.mapped.at(21).resident_bytes, 0x10000u);
}

TEST(ResidentUse, MemoryAboveAGuardIsAStack) {
  EXPECT_EQ(resident_use(one({0x30000, 0x10000, 0x3000, RangeKind::AboveGuard}), {}, kUnseen, kNoBlocks).stack_bytes,
            0x3000u);
}

TEST(ResidentUse, MemoryBehindAFileIsItsDataUnlessItIsKnown) {
  const trace::ResidentPiece piece{0x30000, 0x10000, 0x3000, RangeKind::BehindFile};
  EXPECT_EQ(resident_use(one(piece), {}, kUnseen, kNoBlocks).file_bytes, 0x3000u);
  EXPECT_EQ(resident_use(one(piece), {}, kUnseen, block_at(0x30010, 0x30020)).heap_bytes, 0x3000u);
  Mappings mappings;
  mappings.map(0x30000, 0x10000);
  EXPECT_EQ(resident_use(one(piece), mappings, kUnseen, kNoBlocks).mapping_bytes, 0x3000u);
}

}  // namespace
}  // namespace tare::core
