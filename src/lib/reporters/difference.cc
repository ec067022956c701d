// Two snapshots, path by path.
#include <algorithm>

#include "tare/memory_snapshot.h"

namespace tare::inline TARE_ABI {
namespace {

bool comes_before(const MemoryReport& a, const MemoryReport& b) {
  if (a.path != b.path) return a.path < b.path;
  return a.kind != b.kind ? a.kind < b.kind : a.units < b.units;
}

MemoryDifference::Line line_of(const MemoryReport& report) {
  return {report.path, report.kind, report.units, std::nullopt, std::nullopt};
}

}  // namespace

MemoryDifference difference(const MemorySnapshot& before, const MemorySnapshot& after) {
  MemoryDifference result;
  auto old = before.reports.begin();
  auto now = after.reports.begin();
  while (old != before.reports.end() || now != after.reports.end()) {
    const bool only_old = now == after.reports.end() || (old != before.reports.end() && comes_before(*old, *now));
    const bool only_now = old == before.reports.end() || (now != after.reports.end() && comes_before(*now, *old));
    MemoryDifference::Line line = line_of(only_old ? *old : *now);
    if (!only_now) line.before = (old++)->amount;
    if (!only_old) line.after = (now++)->amount;
    if (line.before != line.after) result.lines.push_back(std::move(line));
  }
  const auto unclassified_before = before.heap_unclassified_bytes();
  const auto unclassified_after = after.heap_unclassified_bytes();
  if (unclassified_before && unclassified_after) {
    result.heap_unclassified_change = *unclassified_after - *unclassified_before;
  }
  return result;
}

}  // namespace tare::inline TARE_ABI
