// Two snapshots against each other.
#include <gtest/gtest.h>

#include "tare/memory_snapshot.h"

namespace tare {
namespace {

MemoryReport heap_bytes(const char* path, std::int64_t amount, ReportKind kind = ReportKind::Heap) {
  return {path, kind, ReportUnits::Bytes, amount, 1, ""};
}

TEST(ReportDifference, ListsWhatChangedCameAndWent) {
  MemorySnapshot before, after;
  before.reports = {heap_bytes("explicit/grew", 100), heap_bytes("explicit/same", 7), heap_bytes("explicit/went", 50)};
  after.reports = {heap_bytes("explicit/came", 30), heap_bytes("explicit/grew", 120), heap_bytes("explicit/same", 7)};
  before.heap_allocated_bytes = 1000;
  after.heap_allocated_bytes = 1100;
  const MemoryDifference change = difference(before, after);
  ASSERT_EQ(change.lines.size(), 3u);
  EXPECT_EQ(change.lines[0].path, "explicit/came");
  EXPECT_EQ(change.lines[0].before, std::nullopt);
  EXPECT_EQ(change.lines[0].change(), 30);
  EXPECT_EQ(change.lines[1].path, "explicit/grew");
  EXPECT_EQ(change.lines[1].change(), 20);
  EXPECT_EQ(change.lines[2].path, "explicit/went");
  EXPECT_EQ(change.lines[2].after, std::nullopt);
  EXPECT_EQ(change.lines[2].change(), -50);
  EXPECT_EQ(change.heap_unclassified_change, 943 - 843);
  EXPECT_EQ(to_text(change),  // shares of 30 + 20 + 50 + 100 = 200
            "Explicit Allocations\n"
            "\n"
            "+100 B (50.00%) -- explicit\n"
            "├──+100 B (50.00%) ── heap-unclassified\n"
            "├───-50 B (-25.00%) ── went [-]\n"
            "├───+30 B (15.00%) ── came [+]\n"
            "└───+20 B (10.00%) ── grew\n"
            "\n");
}

TEST(ReportDifference, OfEqualSnapshotsIsNothing) {
  MemorySnapshot snapshot;
  snapshot.reports = {heap_bytes("explicit/a", 1)};
  EXPECT_TRUE(difference(snapshot, snapshot).lines.empty());
  EXPECT_EQ(to_text(difference(snapshot, snapshot)), "Nothing changed.\n");
}

TEST(ReportDifference, AnotherKindIsAnotherThing) {
  MemorySnapshot before, after;
  before.reports = {heap_bytes("explicit/a", 5)};
  after.reports = {heap_bytes("explicit/a", 5, ReportKind::NonHeap)};
  const MemoryDifference change = difference(before, after);
  ASSERT_EQ(change.lines.size(), 2u);
  EXPECT_EQ(change.lines[0].change(), -5);
  EXPECT_EQ(change.lines[1].change(), 5);
  EXPECT_EQ(change.heap_unclassified_change, std::nullopt);
}

TEST(ReportDifference, GoesToAndFromNothing) {
  MemorySnapshot some;
  some.reports = {heap_bytes("explicit/a", 5), heap_bytes("explicit/b", 6)};
  EXPECT_EQ(difference({}, some).lines.size(), 2u);
  EXPECT_EQ(difference(some, {}).lines.size(), 2u);
}

}  // namespace
}  // namespace tare
