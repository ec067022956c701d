// Which blocks are twins, on made-up traces small enough to pair by hand.
#include "core/heavy_tables/twins.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "support/made_up_trace.h"

namespace tare::core {
namespace {

using Pairs = std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>>;

Pairs pairs_of(const MadeUpTrace& trace) {
  Twins twins(trace.dictionary, trace.info);
  twins.consume(trace.events);
  const Table table = twins.finish();
  Pairs pairs;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    pairs[{table["first_size_id"].ints[row], table["second_size_id"].ints[row]}] = {table["pairs"].ints[row],
                                                                                    table["end_pairs"].ints[row]};
  }
  return pairs;
}

class TwinsTrace : public MadeUpTrace {
 public:
  trace::ShapeId object = shape(stack(0x1), 16);  // 0
  trace::ShapeId text = shape(stack(0x2), 20);    // 1
  trace::ShapeId other = shape(stack(0x3), 100);  // 2
};

TEST(Twins, AreFreedOneAfterTheOtherInAnyOrder) {
  TwinsTrace trace;
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.alloc(0x1000 + 64 * i, trace.object);
    trace.alloc(0x8000 + 64 * i, trace.text);
  }
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.free((i % 2 ? 0x1000 : 0x8000) + 64 * i);
    trace.free((i % 2 ? 0x8000 : 0x1000) + 64 * i);
  }
  EXPECT_EQ(pairs_of(trace), (Pairs{{{0, 1}, {10, 0}}})) << "and never the text with the next object";
}

TEST(Twins, MayHaveTemporariesBetweenThem) {
  TwinsTrace trace;
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.alloc(0x1000 + 64 * i, trace.object);
    trace.alloc(0x20000, trace.other);
    trace.free(0x20000);
    trace.alloc(0x8000 + 64 * i, trace.text);
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.free(0x8000 + 64 * i);
    trace.free(0x1000 + 64 * i);
  }
  EXPECT_EQ(pairs_of(trace), (Pairs{{{0, 1}, {4, 0}}}));
}

TEST(Twins, ComeInThrees) {
  TwinsTrace trace;
  for (int i = 0; i < 5; ++i) {
    trace.alloc(0x1000, trace.object);
    trace.alloc(0x2000, trace.text);
    trace.alloc(0x3000, trace.other);
    trace.free(0x2000);
    trace.free(0x3000);
    trace.free(0x1000);
  }
  EXPECT_EQ(pairs_of(trace), (Pairs{{{0, 1}, {5, 0}}, {{1, 2}, {5, 0}}}));
}

TEST(Twins, AreNotThoseOfWhichOneOutlivesTheOther) {
  TwinsTrace trace;
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.alloc(0x1000 + 64 * i, trace.object);
    trace.alloc(0x8000, trace.text);
    trace.free(0x8000);
  }
  for (std::uint64_t i = 0; i < 10; ++i) trace.free(0x1000 + 64 * i);
  // The last object dies right after the last text, and that's all: below half of their blocks.
  EXPECT_EQ(pairs_of(trace), Pairs{});
}

TEST(Twins, NeverLivedBesideEachOtherAreNone) {
  TwinsTrace trace;
  for (int i = 0; i < 10; ++i) {
    trace.alloc(0x1000, trace.object);
    trace.free(0x1000);
    trace.alloc(0x2000, trace.text);
    trace.free(0x2000);
  }
  EXPECT_EQ(pairs_of(trace), Pairs{});
}

TEST(Twins, NeverFreedCountWithTheirOwnNumber) {
  TwinsTrace trace;
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.alloc(0x1000 + 64 * i, trace.object);
    trace.alloc(0x8000 + 64 * i, trace.text);
  }
  trace.free(0x1000);
  trace.free(0x8000);
  EXPECT_EQ(pairs_of(trace), (Pairs{{{0, 1}, {10, 9}}}));
}

TEST(Twins, AreOfOneThread) {
  TwinsTrace trace;
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.alloc(0x1000 + 64 * i, trace.object, 0);
    trace.alloc(0x8000 + 64 * i, trace.text, 1);
    trace.free(0x1000 + 64 * i, 0);
    trace.free(0x8000 + 64 * i, 0);
  }
  EXPECT_EQ(pairs_of(trace), Pairs{});
  TwinsTrace handed_over;  // made by one, freed by another
  for (std::uint64_t i = 0; i < 10; ++i) {
    handed_over.alloc(0x1000 + 64 * i, handed_over.object, 0);
    handed_over.alloc(0x8000 + 64 * i, handed_over.text, 0);
    handed_over.free(0x8000 + 64 * i, 1);
    handed_over.free(0x1000 + 64 * i, 1);
  }
  EXPECT_EQ(pairs_of(handed_over), (Pairs{{{0, 1}, {10, 0}}}));
}

TEST(Twins, ThatGrowCouldNotBeOne) {
  TwinsTrace trace;
  for (int i = 0; i < 10; ++i) {
    trace.alloc(0x1000, trace.object);
    trace.alloc(0x2000, trace.text);
    trace.realloc(0x2000, 0x3000, trace.other);
    trace.free(0x3000);
    trace.free(0x1000);
  }
  EXPECT_EQ(pairs_of(trace), Pairs{});
}

}  // namespace
}  // namespace tare::core
