// One row a block, in batches.
#include "core/heavy_tables/blocks.h"

#include <gtest/gtest.h>

#include <map>

#include "support/made_up_trace.h"

namespace tare::core {
namespace {

std::vector<Table> batches_of(const MadeUpTrace& made, const LiveSet* inherited = nullptr) {
  std::vector<Table> batches;
  const auto clock = made.clock();
  BlockStream stream(
      made.dictionary, made.info, clock,
      [&](Table batch) {
        batches.push_back(std::move(batch));
        return ok();
      },
      inherited);
  stream.consume(made.events);
  EXPECT_TRUE(stream.finish());
  return batches;
}

TEST(Blocks, EveryColumnOfABlock) {
  MadeUpTrace made;
  made.info.free_stacks = true;
  const auto stack = made.stack(0x2000);
  const auto freer = made.stack(0x3000);
  made.alloc(0x10010, made.shape(stack, 100), 2);
  made.add(trace::EventKind::Free, 0x10010, static_cast<trace::ShapeId>(trace::index(freer)), 3);
  made.alloc(0x20010, made.shape(stack, 32, 40, 1, trace::AllocApi::OperatorNew));
  const auto batches = batches_of(made);
  ASSERT_EQ(batches.size(), 1u);
  const Table& blocks = batches[0];
  EXPECT_EQ(blocks.name, "blocks");
  ASSERT_EQ(blocks.rows(), 2u);
  for (const Column& column : blocks.columns) EXPECT_EQ(column.size(), 2u) << column.name;
  EXPECT_EQ(blocks["block_id"].ints[0], 0);
  EXPECT_EQ(blocks["thread"].ints[0], 2);
  EXPECT_EQ(blocks["allocated_ns"].ints[0], 256);
  EXPECT_EQ(blocks["freed_ns"].ints[0], 512);
  EXPECT_EQ(blocks["alloc_stack_id"].ints[0], trace::index(stack));
  EXPECT_EQ(blocks["free_stack_id"].ints[0], trace::index(freer));
  EXPECT_EQ(blocks["requested_bytes"].ints[0], 100);
  EXPECT_EQ(blocks["usable_bytes"].ints[0], 104);
  EXPECT_EQ(blocks["api"].text(0), "malloc");
  EXPECT_TRUE(blocks["grown_from"].is_null(0));
  EXPECT_EQ(blocks["weight"].doubles[0], 1.0);
  EXPECT_EQ(blocks["inherited"].ints[0], 0);
  EXPECT_EQ(blocks["address"].ints[0], 0x10010);
  EXPECT_EQ(blocks["block_id"].ints[1], 1);
  EXPECT_TRUE(blocks["freed_ns"].is_null(1));
  EXPECT_TRUE(blocks["free_stack_id"].is_null(1));
  EXPECT_EQ(blocks["api"].text(1), "operator new");
}

TEST(Blocks, GrownFromNamesTheBlockBefore) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000);
  made.alloc(0x10010, made.shape(stack, 10));             // 0
  made.realloc(0x10010, 0x10010, made.shape(stack, 20));  // 1, from 0
  made.realloc(0x10010, 0x20010, made.shape(stack, 5));   // 2, from 1: shrinking continues a block too
  made.alloc(0x30010, made.shape(stack, 50));             // 3, from 2: copied, then freed
  made.free(0x20010);
  made.alloc(0x40010, made.shape(stack, 60));  // 4, from nothing
  std::map<std::int64_t, std::int64_t> grown;
  for (const Table& batch : batches_of(made)) {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const Column& from = batch["grown_from"];
      grown[batch["block_id"].ints[row]] = from.is_null(row) ? -1 : from.ints[row];
    }
  }
  EXPECT_EQ(grown, (std::map<std::int64_t, std::int64_t>{{0, -1}, {1, 0}, {2, 1}, {3, 2}, {4, -1}}));
}

TEST(Blocks, AgreesWithTheSmallTables) {
  MadeUpTrace made;
  std::vector<trace::ShapeId> shapes;
  for (std::uint64_t i = 0; i < 50; ++i) shapes.push_back(made.shape(made.stack(0x2000 + i % 7), 10 + i * 3));
  made.step = 1000;
  for (std::uint64_t i = 0; i < 150'000; ++i) {
    made.alloc(0x100000 + i % 1000 * 4096, shapes[i * 7 % 50]);
    if (i % 1000 != i % 997) made.free(0x100000 + i % 1000 * 4096);
    if (i % 1000 == 999) {
      for (std::uint64_t j = 0; j < 1000; ++j) {
        if (j == j % 997 && i < 997) made.free(0x100000 + j * 4096);
      }
    }
  }
  const Tables tables = made.replay();
  const auto batches = batches_of(made);
  EXPECT_GE(batches.size(), 2u);
  std::map<std::int64_t, std::int64_t> total;
  std::map<std::int64_t, double> lifetime;
  std::int64_t live = 0;
  for (const Table& batch : batches) {
    EXPECT_LE(batch.rows(), BlockStream::kBatchRows);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const std::int64_t shape = batch["size_id"].ints[row];
      ++total[shape];
      const Column& death = batch["freed_ns"];
      if (death.is_null(row)) ++live;
      const auto end = death.is_null(row) ? static_cast<std::int64_t>(made.stamp) : death.ints[row];
      lifetime[shape] += static_cast<double>(end - batch["allocated_ns"].ints[row]);
    }
  }
  EXPECT_EQ(live, process_value(tables, "end_blocks"));
  const Table& sizes = tables["site_sizes"];
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    const std::int64_t shape = sizes["size_id"].ints[row];
    EXPECT_EQ(sizes["total_blocks"].ints[row], total[shape]);
    EXPECT_NEAR(sizes["lifetime_ns"].doubles[row], lifetime[shape], 512.0 * static_cast<double>(total[shape]));
  }
}

TEST(Blocks, InheritedOnesAreMarked) {
  MadeUpTrace parent;
  parent.alloc(0x10010, parent.shape(parent.stack(0x9100), 1000));
  trace::ForkOrigin fork;
  fork.parent_thread_events = 1;
  LiveSetAtFork sink(parent.dictionary, fork);
  sink.consume(parent.events);
  const LiveSet set = sink.take();
  MadeUpTrace child;
  child.alloc(0x20010, child.shape(child.stack(0x5000), 100));
  child.free(0x10010);
  const auto batches = batches_of(child, &set);
  ASSERT_EQ(batches.size(), 1u);
  ASSERT_EQ(batches[0].rows(), 2u);
  EXPECT_EQ(batches[0]["inherited"].ints[0], 1);
  EXPECT_EQ(batches[0]["requested_bytes"].ints[0], 1000);
  EXPECT_EQ(batches[0]["inherited"].ints[1], 0);
  const Tables tables = child.replay({}, &set);
  EXPECT_EQ(tables["locations"]["address"].ints.back(), 0x9100);
  EXPECT_EQ(batches[0]["alloc_stack_id"].ints[0], static_cast<std::int64_t>(tables["stacks"].rows()) - 1);
}

TEST(Blocks, TheSinksErrorEndsThePass) {
  MadeUpTrace made;
  const auto shape = made.shape(made.stack(0x2000), 24);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    made.alloc(0x10010, shape);
    made.free(0x10010);
  }
  int calls = 0;
  const auto clock = made.clock();
  BlockStream stream(made.dictionary, made.info, clock, [&](Table) -> Status {
    ++calls;
    return Error{ErrorKind::Io, "disk full"};
  });
  stream.consume(made.events);
  const Status status = stream.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "disk full");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tare::core
