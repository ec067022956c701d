// Trees as they are printed: worked out by hand.
#include <gtest/gtest.h>

#include "tare/memory_snapshot.h"

namespace tare {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

MemoryReport bytes(const char* path, std::int64_t amount, ReportKind kind = ReportKind::Heap) {
  return {path, kind, ReportUnits::Bytes, amount, 1, ""};
}

MemoryReport other(const char* path, std::int64_t amount, ReportUnits units) {
  return {path, ReportKind::Other, units, amount, 1, ""};
}

MemorySnapshot program() {
  MemorySnapshot snapshot;
  snapshot.reports = {
      bytes("explicit/atoms/slabs", 40 * kMiB, ReportKind::NonHeap),
      bytes("explicit/atoms/table", 20 * kMiB),
      bytes("explicit/cache", 30 * kMiB),
      bytes("explicit/small/a", kMiB / 4),
      bytes("explicit/small/b", kMiB / 4),
      bytes("explicit/tiny", kMiB / 2),
  };
  snapshot.heap_allocated_bytes = 60 * kMiB;
  return snapshot;
}

TEST(ReportText, ShowsSharesUnclassifiedHeapAndTinySubTreesAsOne) {
  EXPECT_EQ(to_text(program()),
            "Explicit Allocations\n"
            "\n"
            "100.00 MiB (100.0%) -- explicit\n"
            "├───60.00 MiB (60.00%) -- atoms\n"
            "│  ├───40.00 MiB (40.00%) ── slabs\n"
            "│  └───20.00 MiB (20.00%) ── table\n"
            "├───30.00 MiB (30.00%) ── cache\n"
            "├────9.00 MiB (09.00%) ── heap-unclassified\n"
            "└────1.00 MiB (01.00%) ── (2 tiny)\n"
            "\n");
}

TEST(ReportText, ShowsEveryByteWhenAsked) {
  EXPECT_EQ(to_text(program(), {0, ReportAmounts::Exact}),
            "Explicit Allocations\n"
            "\n"
            "104,857,600 B (100.0%) -- explicit\n"
            "├───62,914,560 B (60.00%) -- atoms\n"
            "│  ├───41,943,040 B (40.00%) ── slabs\n"
            "│  └───20,971,520 B (20.00%) ── table\n"
            "├───31,457,280 B (30.00%) ── cache\n"
            "├────9,437,184 B (09.00%) ── heap-unclassified\n"
            "├──────524,288 B (00.50%) -- small\n"
            "│  ├──────262,144 B (00.25%) ── a\n"
            "│  └──────262,144 B (00.25%) ── b\n"
            "└──────524,288 B (00.50%) ── tiny\n"
            "\n");
}

TEST(ReportText, OneTinyChildIsShownAndAllTinyChildrenAreNot) {
  MemorySnapshot snapshot;
  snapshot.reports = {bytes("explicit/a/x", 995), bytes("explicit/a/y", 1), bytes("explicit/b/p", 2),
                      bytes("explicit/b/q", 2)};
  snapshot.heap_allocated_bytes = 1000;
  EXPECT_EQ(to_text(snapshot),
            "Explicit Allocations\n"
            "\n"
            "1,000 B (100.0%) -- explicit\n"
            "├────996 B (99.60%) -- a\n"
            "│  ├────995 B (99.50%) ── x\n"
            "│  └──────1 B (00.10%) ── y\n"
            "└──────4 B (00.40%) ── (2 tiny)\n"  // b, and heap-unclassified, which is 0
            "\n");
  snapshot.heap_allocated_bytes = 2000;
  EXPECT_NE(to_text(snapshot, {0.3, ReportAmounts::Scaled}).find("4 B (00.20%) ++ b"), std::string::npos)
      << to_text(snapshot, {0.3, ReportAmounts::Scaled});
}

TEST(ReportText, FoldsASubTreeWithOnlyTinyChildren) {
  MemorySnapshot snapshot;
  snapshot.reports = {bytes("explicit/a", 9800)};
  for (char name = 'a'; name < 'a' + 10; ++name) {
    snapshot.reports.push_back(bytes((std::string("explicit/b/") + name).c_str(), 20));
  }
  snapshot.heap_allocated_bytes = 10000;
  EXPECT_EQ(to_text(snapshot),
            "Explicit Allocations\n"
            "\n"
            "10,000 B (100.0%) -- explicit\n"
            "├───9,800 B (98.00%) ── a\n"
            "├─────200 B (02.00%) ++ b\n"
            "└───────0 B (00.00%) ── heap-unclassified\n"
            "\n");
}

TEST(ReportText, KeepsAnAmountThatHasOthersBelowItApart) {
  MemorySnapshot snapshot;
  snapshot.reports = {bytes("explicit/a", 30), bytes("explicit/a-b", 10), bytes("explicit/a/x", 60)};
  snapshot.reports[0].reports = 3;
  snapshot.heap_allocated_bytes = 100;
  EXPECT_EQ(to_text(snapshot, {0, ReportAmounts::Scaled}),
            "Explicit Allocations\n"
            "\n"
            "100 B (100.0%) -- explicit\n"
            "├───90 B (90.00%) -- a\n"
            "│  ├───60 B (60.00%) ── x\n"
            "│  └───30 B (30.00%) ── (itself) [3]\n"
            "├───10 B (10.00%) ── a-b\n"
            "└────0 B (00.00%) ── heap-unclassified\n"
            "\n");
}

TEST(ReportText, AddsUpOnlyWhatHasOneUnit) {
  MemorySnapshot snapshot;
  snapshot.reports = {
      other("atoms/hits", 9950, ReportUnits::Percentage), other("atoms/live/dynamic", 3000, ReportUnits::Count),
      other("atoms/live/static", 1000, ReportUnits::Count),
      other("page-faults", 1'234'567, ReportUnits::CumulativeCount), other("resident", 20 * kMiB, ReportUnits::Bytes)};
  EXPECT_EQ(to_text(snapshot),
            "Other Measurements\n"
            "\n"
            "4,000 (100.0%) -- atoms\n"
            "└──4,000 (100.0%) -- live\n"
            "   ├──3,000 (75.00%) ── dynamic\n"
            "   └──1,000 (25.00%) ── static\n"
            "\n"
            "   99.50% ── atoms/hits\n"
            "1,234,567 ── page-faults\n"
            "20.00 MiB ── resident\n"
            "\n"
            "The allocator doesn't say what it holds: heap-unclassified is unknown.\n");
}

TEST(ReportText, SaysThatMoreIsClaimedThanThereIs) {
  MemorySnapshot snapshot;
  snapshot.reports = {bytes("explicit/a", 150)};
  snapshot.heap_allocated_bytes = 100;
  snapshot.problems = {"explicit/a is reported in two kinds or units; only the first is kept"};
  EXPECT_EQ(to_text(snapshot),
            "Explicit Allocations\n"
            "\n"
            "100 B (100.0%) -- explicit\n"
            "├──150 B (150.0%) ── a\n"
            "└──-50 B (-50.00%) ── heap-unclassified\n"
            "\n"
            "More heap is reported than the allocator holds: some of it is reported twice, or isn't heap.\n"
            "explicit/a is reported in two kinds or units; only the first is kept.\n");
  EXPECT_EQ(snapshot.heap_unclassified_bytes(), -50);
}

TEST(ReportText, SumsByPath) {
  const MemorySnapshot snapshot = program();
  EXPECT_EQ(snapshot.explicit_bytes(), 91 * kMiB);
  EXPECT_EQ(snapshot.heap_unclassified_bytes(), 9 * kMiB);
  EXPECT_EQ(snapshot.amount("explicit/atoms"), 60 * kMiB);
  EXPECT_EQ(snapshot.amount("explicit/atom"), std::nullopt);
  EXPECT_EQ(MemorySnapshot().heap_unclassified_bytes(), std::nullopt);
}

}  // namespace
}  // namespace tare
