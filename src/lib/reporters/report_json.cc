// A snapshot as JSON.
#include <cstddef>

#include "lib/reporters/json_string.h"
#include "tare/memory_snapshot.h"

namespace tare::inline TARE_ABI {
namespace {

const char* name_of(ReportKind kind) {
  switch (kind) {
    case ReportKind::Heap:
      return "heap";
    case ReportKind::NonHeap:
      return "non-heap";
    case ReportKind::Other:
      break;
  }
  return "other";
}

const char* name_of(ReportUnits units) {
  switch (units) {
    case ReportUnits::Bytes:
      return "bytes";
    case ReportUnits::Count:
      return "count";
    case ReportUnits::CumulativeCount:
      return "cumulative-count";
    case ReportUnits::Percentage:
      break;
  }
  return "percentage";
}

}  // namespace

std::string to_json(const MemorySnapshot& snapshot) {
  std::string out = "{\"version\": 1, \"heap_allocated_bytes\": ";
  out += snapshot.heap_allocated_bytes ? std::to_string(*snapshot.heap_allocated_bytes) : "null";
  out += ", \"reports\": [";
  const char* separator = "\n  ";
  for (const MemoryReport& report : snapshot.reports) {
    out += separator;
    out += "{\"path\": ";
    add_json_string(out, report.path);
    out.append(", \"kind\": \"").append(name_of(report.kind));
    out.append("\", \"units\": \"").append(name_of(report.units));
    out.append("\", \"amount\": ").append(std::to_string(report.amount));
    out.append(", \"reports\": ").append(std::to_string(report.reports)).append(", \"description\": ");
    add_json_string(out, report.description);
    out += '}';
    separator = ",\n  ";
  }
  out += "], \"problems\": [";
  separator = "\n  ";
  for (const std::string& problem : snapshot.problems) {
    out += separator;
    add_json_string(out, problem);
    separator = ",\n  ";
  }
  return out += "]}\n";
}

}  // namespace tare::inline TARE_ABI
