// tare/memory_snapshot.h: the reports of a program at one time: as a tree of text, as JSON, and compared with another.
//
//   const tare::MemorySnapshot before = registry.collect();
//   work();
//   const tare::MemorySnapshot after = registry.collect();
//   std::puts(tare::to_text(after).c_str());
//   std::puts(tare::to_text(tare::difference(before, after)).c_str());
//
//   80.00 MiB (100.0%) -- explicit
//   ├──50.00 MiB (62.50%) -- atoms
//   │  ├──40.00 MiB (50.00%) ── slabs
//   │  └──10.00 MiB (12.50%) ── table
//   ├──29.50 MiB (36.88%) ── heap-unclassified
//   └───0.50 MiB (00.63%) ── (3 tiny)
//
// Plain values: each is its holder's own, and may be read by any number of threads. After Firefox's about:memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

enum class ReportKind : std::uint8_t {
  Heap,     // bytes in blocks of malloc
  NonHeap,  // bytes of memory from elsewhere: mappings
  Other,    // anything else: counts, shares, bytes that are counted elsewhere too
};

enum class ReportUnits : std::uint8_t {
  Bytes,
  Count,            // how many there are
  CumulativeCount,  // how many there have been
  Percentage,       // in hundredths of a percent
};

struct MemoryReport {
  std::string path;  // "explicit/atoms/table"
  ReportKind kind = ReportKind::Other;
  ReportUnits units = ReportUnits::Bytes;
  std::int64_t amount =
      0;  // negative only in differences, and for unclassified bytes when more is claimed than there is
  std::uint32_t reports = 1;  // how many were added up
  std::string description;    // that of the first
};

struct TARE_API MemorySnapshot {
  std::vector<MemoryReport> reports;  // in the order of their paths, which are distinct
  // The allocator's total of all live blocks, just before the call-backs were called; empty if it has none (see
  // heap_allocated_bytes()).
  std::optional<std::uint64_t> heap_allocated_bytes;
  std::vector<std::string> problems;  // reports that contradict each other, one sentence each

  std::int64_t explicit_bytes() const;  // all under "explicit/", without unclassified ones
  // Unreported heap: heap_allocated_bytes less all Heap reports under "explicit/".
  std::optional<std::int64_t> heap_unclassified_bytes() const;
  // The amount of a path, or of all paths below it. Nothing if there is no report.
  std::optional<std::int64_t> amount(std::string_view path) const;
};

// Bytes in live blocks as the allocator in use counts them: glibc by mallinfo2 (with the 8 bytes of header a block),
// jemalloc by mallctl, gperftools' tcmalloc by its MallocExtension, sanitizers by their own call. Nothing for mimalloc,
// musl, and glibc before 2.33; an allocator unknown here leaves glibc's figure. Takes each arena's lock for a moment;
// any thread.
TARE_API std::optional<std::uint64_t> heap_allocated_bytes();

// How amounts are written.
enum class ReportAmounts : std::uint8_t {
  Scaled,  // B, KiB or MiB, by the total of the tree: columns stay comparable
  Exact,   // bytes: 1,048,576 B
};

struct ReportTextOptions {
  // Sub-trees below this share of their tree's total are folded into one line, "(N tiny)". 0: none is.
  double tiny_percent = 1.0;
  ReportAmounts amounts = ReportAmounts::Scaled;
};

// The tree under "explicit" with heap-unclassified, then other trees, then single paths; UTF-8, lines end in '\n'.
TARE_API std::string to_text(const MemorySnapshot& snapshot, const ReportTextOptions& options = {});

// One object: {"version": 1, "heap_allocated_bytes": N or null, "reports": [{"path", "kind", "units", "amount",
// "reports", "description"}], "problems": [...]}. Kinds are "heap", "non-heap", "other"; units "bytes", "count",
// "cumulative-count", "percentage". Bytes of paths and descriptions that aren't UTF-8 become U+FFFD.
TARE_API std::string to_json(const MemorySnapshot& snapshot);

// The changes, path by path; equal amounts are left out.
struct MemoryDifference {
  struct Line {
    std::string path;
    ReportKind kind = ReportKind::Other;
    ReportUnits units = ReportUnits::Bytes;
    std::optional<std::int64_t> before;  // nothing: the path wasn't there
    std::optional<std::int64_t> after;
    std::int64_t change() const { return after.value_or(0) - before.value_or(0); }
  };
  std::vector<Line> lines;  // in the order of their paths
  std::optional<std::int64_t> heap_unclassified_change;
};

// A path that has other units or another kind in `after` is one that went and one that came.
TARE_API MemoryDifference difference(const MemorySnapshot& before, const MemorySnapshot& after);

// The same tree with signs; [+] marks paths that came, [-] those that went. Shares are of the sum of all changes in the
// tree, taken without their signs.
TARE_API std::string to_text(const MemoryDifference& difference, const ReportTextOptions& options = {});

}  // namespace tare::inline TARE_ABI
