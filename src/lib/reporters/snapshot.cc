// Sums over a snapshot's reports.
#include "tare/memory_snapshot.h"

#include "lib/reporters/report_paths.h"

namespace tare::inline TARE_ABI {

std::int64_t MemorySnapshot::explicit_bytes() const {
  std::int64_t bytes = 0;
  for (const MemoryReport& report : reports) {
    if (is_explicit(report.path, report.units)) bytes += report.amount;
  }
  return bytes;
}

std::optional<std::int64_t> MemorySnapshot::heap_unclassified_bytes() const {
  if (!heap_allocated_bytes) return std::nullopt;
  std::int64_t bytes = static_cast<std::int64_t>(*heap_allocated_bytes);
  for (const MemoryReport& report : reports) {
    if (report.kind == ReportKind::Heap && is_explicit(report.path, report.units)) bytes -= report.amount;
  }
  return bytes;
}

std::optional<std::int64_t> MemorySnapshot::amount(std::string_view path) const {
  std::optional<std::int64_t> sum;
  for (const MemoryReport& report : reports) {
    if (is_at_or_below(report.path, path)) sum = sum.value_or(0) + report.amount;
  }
  return sum;
}

}  // namespace tare::inline TARE_ABI
