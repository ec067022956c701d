// Contents of the peak's blocks, on made-up traces small enough to count by hand.
#include "core/analysis/contents/peak_contents.h"

#include <gtest/gtest.h>

#include "support/seen_trace.h"
#include "trace/model/moment.h"

namespace tare::core {
namespace {

using trace::ContentClass;

double sum(const Table& table, const char* column) {
  double sum = 0;
  for (const double value : table[column].doubles) sum += value;
  return sum;
}

// Three blocks of one shape and one large block, which is the peak.
struct Heap : SeenTrace {
  trace::ShapeId shape = SeenTrace::shape(stack(0x1), 40);
  trace::ShapeId big = SeenTrace::shape(stack(0x2), 1'000'000);
  void grow() {
    for (const std::uint64_t address : {0x100, 0x200, 0x300}) alloc(address, shape);
    alloc(0x1000000, big);
  }
};

TEST(PeakContents, TheFirstOfEqualContentsIsKnownToo) {
  Heap heap;
  heap.grow();
  heap.new_digest(0x1234'5670);
  heap.free(0x100);
  heap.contents(0x200, 0);
  heap.digest(0x1234'5670);
  heap.free(0x200);
  heap.new_digest(0x9999'9990);
  heap.free(0x300);
  heap.free(0x1000000);
  const Tables tables = heap.replay();
  EXPECT_EQ(sum(tables["peak_contents"], "blocks"), 3);
  EXPECT_EQ(sum(tables["peak_contents"], "copies"), 2);
  EXPECT_EQ(sum(tables["peak_contents"], "contents"), 1);
  EXPECT_EQ(tables["recreated"].rows(), 1u) << "only contents that were freed before were made again";
}

TEST(PeakContents, BlocksThatEndedBeforeThePeakAreNoCopies) {
  Heap heap;
  heap.alloc(0x100, heap.shape);
  heap.new_digest(0x1234'5670);
  heap.free(0x100);
  heap.grow();
  heap.contents(0x200, 0);
  heap.digest(0x1234'5670);
  heap.free(0x200);
  heap.free(0x1000000);
  heap.alloc(0x100000, heap.shape);  // after the peak
  heap.contents(0x100000, 0);
  heap.digest(0x1234'5670);
  heap.free(0x100000);
  const Tables tables = heap.replay();
  EXPECT_EQ(sum(tables["peak_contents"], "blocks"), 1);
  EXPECT_EQ(sum(tables["peak_contents"], "copies"), 0);
}

TEST(PeakContents, ADigestIsThatOfTheNextEndOnly) {
  Heap heap;
  heap.grow();
  heap.new_digest(0x1234'5670);
  heap.contents(0x100, 8, ContentClass::Text);
  heap.free(0x100);
  heap.free(0x200);  // not looked at
  heap.free(0x1000000);
  const Tables tables = heap.replay();
  EXPECT_EQ(sum(tables["peak_contents"], "blocks"), 1);
  ASSERT_EQ(tables["written"].rows(), 1u);
  EXPECT_EQ(tables["written"]["unwritten_total_bytes"].doubles.front(), 8);
}

trace::Observation kept(std::uint64_t address, trace::ShapeId shape, std::uint64_t high_water, std::uint64_t digest) {
  trace::Observation block;
  block.address = address;
  block.shape = shape;
  block.high_water_bytes = high_water;
  block.digest = digest;
  block.content = trace::BlockContent::Text;
  return block;
}

TEST(PeakContents, BlocksThatNeverEndAreKnownByTheExit) {
  Heap heap;
  heap.grow();
  heap.new_digest(0x1234'5670);
  heap.free(0x100);
  heap.free(0x1000000);
  heap.alloc(0x400, heap.shape);  // after the peak
  Replay replay(heap.dictionary, heap.info);
  replay.consume(heap.events);
  auto pointing = kept(0x300, heap.shape, 40, 0x1234'5670);
  pointing.start_pointers = 1;
  const trace::Observation blocks[] = {
      kept(0x100, heap.shape, 40, 0x1234'5670),  // freed since
      kept(0x200, heap.shape, 10, 0x1234'5670),
      pointing,
      kept(0x400, heap.shape, 40, 0x1234'5670),
  };
  replay.add_exit_contents(blocks);
  const Tables tables = replay.finish(heap.clock());
  EXPECT_EQ(sum(tables["peak_contents"], "blocks"), 3);
  EXPECT_EQ(sum(tables["peak_contents"], "copies"), 2);
  EXPECT_EQ(sum(tables["peak_contents"], "contents"), 1);
  const Table& written = tables["written"];
  ASSERT_EQ(written.rows(), 1u);
  EXPECT_EQ(written["unwritten_peak_bytes"].doubles.front(), 30);
  EXPECT_EQ(written["narrow_blocks"].doubles.front(), 1);
  EXPECT_EQ(written["ended_blocks"].doubles.front(), 4) << "one was freed, three count as ended at the exit";
  EXPECT_EQ(tables["process"]["contents_at_exit"].ints.front(), 1);
}

}  // namespace
}  // namespace tare::core
