// Blocks that a forked child inherits, in the child's tables.
#include "core/analysis/live_set.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/made_up_trace.h"

namespace tare::core {
namespace {

using trace::EventKind;

std::vector<std::uint64_t> addresses(const LiveSet& set) {
  std::vector<std::uint64_t> found;
  for (const LiveSet::Block& block : set.blocks) found.push_back(block.address);
  std::sort(found.begin(), found.end());
  return found;
}

LiveSet take(const MadeUpTrace& parent, const trace::ForkOrigin& fork, const LiveSet* inherited = nullptr) {
  LiveSetAtFork sink(parent.dictionary, fork, inherited);
  sink.consume(parent.events);
  return sink.take();
}

TEST(LiveSetAtFork, StopsAfterTheForkingThreadsEvents) {
  MadeUpTrace parent;
  const auto shape = parent.shape(parent.stack(0x2000), 24);
  parent.add(EventKind::ThreadStart, 1);
  parent.alloc(0x10010, shape);
  parent.alloc(0x20010, shape);
  parent.free(0x10010);
  parent.realloc(0x20010, 0x30010, shape);  // one event of the thread
  parent.alloc(0x40010, shape);
  parent.alloc(0x50010, shape);
  trace::ForkOrigin fork;
  fork.stamp = parent.stamp + 1000;
  const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> expected = {
      {0, {}},
      {1, {}},
      {2, {0x10010}},
      {3, {0x10010, 0x20010}},
      {4, {0x20010}},
      {5, {0x30010}},
      {6, {0x30010, 0x40010}},
      {7, {0x30010, 0x40010, 0x50010}},
      {99, {0x30010, 0x40010, 0x50010}},
  };
  for (const auto& [events, blocks] : expected) {
    fork.parent_thread_events = events;
    EXPECT_EQ(addresses(take(parent, fork)), blocks) << events;
  }
}

TEST(LiveSetAtFork, OtherThreadsCountUpToTheForksStamp) {
  MadeUpTrace parent;
  const auto shape = parent.shape(parent.stack(0x2000), 24);
  parent.alloc(0x10010, shape, 1);  // the forking thread is 1
  parent.alloc(0x20010, shape, 0);
  trace::ForkOrigin fork;
  fork.parent_thread = 1;
  fork.parent_thread_events = 1;
  fork.stamp = parent.stamp + 1;
  parent.alloc(0x30010, shape, 0);
  parent.alloc(0x40010, shape, 1);
  LiveSetAtFork sink(parent.dictionary, fork);
  sink.consume({parent.events.data(), 2});
  EXPECT_FALSE(sink.taken());
  sink.consume({parent.events.data() + 2, 2});
  EXPECT_TRUE(sink.taken());
  EXPECT_EQ(addresses(sink.take()), (std::vector<std::uint64_t>{0x10010, 0x20010}));
}

TEST(LiveSetAtFork, AnMremapIsOneEventOfItsThread) {
  MadeUpTrace parent;
  const auto shape = parent.shape(parent.stack(0x2000), 24);
  parent.add(EventKind::Unmap, 0x7f0000000000, parent.map_shape(4096, trace::MapApi::Mremap));
  parent.add(EventKind::Map, 0x7f0000100000, parent.map_shape(8192, trace::MapApi::Mremap));
  parent.add(EventKind::Unmap, 0x7f0000100000, parent.map_shape(8192, trace::MapApi::Munmap));
  parent.alloc(0x10010, shape);
  parent.alloc(0x20010, shape);
  trace::ForkOrigin fork;
  fork.parent_thread_events = 3;
  fork.stamp = parent.stamp + 1;
  EXPECT_EQ(addresses(take(parent, fork)), (std::vector<std::uint64_t>{0x10010}));
}

TEST(LiveSetAtFork, ANoteOfContentsIsOneEventWithItsDigest) {
  MadeUpTrace parent;
  const auto shape = parent.shape(parent.stack(0x2000), 24);
  parent.alloc(0x10010, shape);
  parent.add(EventKind::Contents, 0x10010, trace::ShapeId{4});
  parent.add(EventKind::Digest, 77);
  parent.free(0x10010);
  parent.alloc(0x20010, shape);
  trace::ForkOrigin fork;
  fork.stamp = parent.stamp + 1000;
  fork.parent_thread_events = 3;
  EXPECT_EQ(addresses(take(parent, fork)), (std::vector<std::uint64_t>{}));
  fork.parent_thread_events = 4;
  EXPECT_EQ(addresses(take(parent, fork)), (std::vector<std::uint64_t>{0x20010}));
}

TEST(LiveSetAtFork, KeepsOnlyTheDictionaryThatItsBlocksNeed) {
  MadeUpTrace parent;
  for (std::uint64_t i = 0; i < 100; ++i) parent.shape(parent.stack(0x2000 + i), 24);
  const auto outer = parent.stack(0x9000);
  const auto inner = parent.stack(0x9100, outer);
  parent.alloc(0x10010, parent.shape(inner, 24));
  trace::ForkOrigin fork;
  fork.parent_thread_events = 1;
  const LiveSet set = take(parent, fork);
  EXPECT_EQ(set.dictionary.shapes.size(), 1u);
  EXPECT_EQ(set.dictionary.stacks.size(), 3u);
  EXPECT_EQ(set.dictionary.rows.size(), 2u);
  EXPECT_EQ(set.dictionary.modules.size(), 1u);
}

TEST(Inherit, BlocksAreInTheLiveSetAndNotInTotals) {
  MadeUpTrace parent;
  const auto site = parent.stack(0x9100, parent.stack(0x9000));
  parent.alloc(0x10010, parent.shape(site, 1000));
  parent.alloc(0x20010, parent.shape(site, 500));
  trace::ForkOrigin fork;
  fork.parent_thread_events = 2;
  const LiveSet set = take(parent, fork);

  MadeUpTrace child;
  const auto other = child.stack(0x5000);
  const auto same_site = child.stack(0x9100, child.stack(0x9000));  // as the parent's, under other ids
  child.alloc(0x30010, child.shape(other, 100));
  child.alloc(0x40010, child.shape(same_site, 200));
  child.free(0x10010);
  child.free(0x70010);  // nobody's
  const Tables tables = child.replay({}, &set);
  EXPECT_EQ(process_value(tables, "inherited_blocks"), 2);
  EXPECT_EQ(process_value(tables, "inherited_usable_bytes"), 1000 + 504);
  EXPECT_EQ(process_value(tables, "total_blocks"), 2);
  EXPECT_EQ(process_value(tables, "peak_blocks"), 4);
  EXPECT_EQ(process_value(tables, "peak_requested_bytes"), 1800);
  EXPECT_EQ(process_value(tables, "end_blocks"), 3);
  EXPECT_EQ(process_value(tables, "end_requested_bytes"), 800);
  EXPECT_EQ(process_value(tables, "impossible_events"), 0);
  EXPECT_EQ(process_value(tables, "pre_existing_frees"), 1);
  const Table& sizes = tables["site_sizes"];
  ASSERT_EQ(sizes.rows(), 4u);
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    if (sizes["inherited"].ints[row] == 0) continue;
    EXPECT_EQ(sizes["stack_id"].ints[row], trace::index(same_site)) << "the same stack is one stack";
    EXPECT_EQ(sizes["total_blocks"].ints[row], 0);
    EXPECT_GE(sizes["size_id"].ints[row], static_cast<std::int64_t>(child.dictionary.shapes.size()));
  }
  EXPECT_EQ(tables["modules"].rows(), 1u);
  EXPECT_EQ(tables["stacks"].rows(), child.dictionary.stacks.size());
}

TEST(Inherit, WhatTheChildNeverSawIsAppended) {
  MadeUpTrace parent;
  parent.dictionary.modules[0].path = "/bin/other";
  parent.alloc(0x10010, parent.shape(parent.stack(0x9100, parent.stack(0x9000)), 1000));
  trace::ForkOrigin fork;
  fork.parent_thread_events = 1;
  const LiveSet set = take(parent, fork);
  MadeUpTrace child;
  child.alloc(0x30010, child.shape(child.stack(0x9100), 100));
  const Tables tables = child.replay({}, &set);
  EXPECT_EQ(tables["modules"].rows(), 2u);
  EXPECT_EQ(tables["modules"]["path"].text(1), "/bin/other");
  EXPECT_EQ(tables["stacks"].rows(), 4u);
  EXPECT_EQ(tables["locations"].rows(), 3u);
  EXPECT_EQ(tables["locations"]["module_id"].ints[2], 1);
  EXPECT_EQ(tables["stacks"]["depth"].ints[3], 2);
  const trace::Dictionary back = dictionary_of(tables);
  EXPECT_EQ(back.modules.size(), 2u);
  EXPECT_EQ(back.modules[1].path, "/bin/other");
  EXPECT_EQ(back.modules[1].build_id, (std::vector<std::uint8_t>{0xab, 0xcd}));
  EXPECT_EQ(trace::row_address(back.rows[2]), 0x9100u);
}

TEST(Inherit, AGrandchildInheritsThroughItsParent) {
  MadeUpTrace parent;
  parent.alloc(0x10010, parent.shape(parent.stack(0x9100), 1000));
  trace::ForkOrigin fork;
  fork.parent_thread_events = 1;
  const LiveSet of_parent = take(parent, fork);
  MadeUpTrace child;
  child.alloc(0x20010, child.shape(child.stack(0x9200), 100));
  fork.parent_thread_events = 1;
  const LiveSet of_child = take(child, fork, &of_parent);
  EXPECT_EQ(addresses(of_child), (std::vector<std::uint64_t>{0x10010, 0x20010}));
  MadeUpTrace grandchild;
  grandchild.free(0x10010);
  const Tables tables = grandchild.replay({}, &of_child);
  EXPECT_EQ(process_value(tables, "inherited_blocks"), 2);
  EXPECT_EQ(process_value(tables, "end_blocks"), 1);
  EXPECT_EQ(process_value(tables, "end_requested_bytes"), 100);
}

TEST(Inherit, ReallocOfAnInheritedBlockGoesOn) {
  MadeUpTrace parent;
  parent.alloc(0x10010, parent.shape(parent.stack(0x9100), 1000));
  trace::ForkOrigin fork;
  fork.parent_thread_events = 1;
  const LiveSet set = take(parent, fork);
  MadeUpTrace child;
  child.realloc(0x10010, 0x20010, child.shape(child.stack(0x9100), 1001));
  const Tables tables = child.replay({}, &set);
  EXPECT_EQ(process_value(tables, "end_blocks"), 1);
  EXPECT_EQ(process_value(tables, "total_blocks"), 1);
  ASSERT_EQ(tables["growth"].rows(), 1u);
  EXPECT_EQ(tables["growth"]["requested_bytes"].doubles[0], 2001);
}

}  // namespace
}  // namespace tare::core
