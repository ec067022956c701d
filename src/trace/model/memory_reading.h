// Where a process's resident memory was when the launcher last read /proc/PID/smaps near its greatest RSS.
#pragma once

#include <cstdint>
#include <vector>

namespace tare::trace {

enum class RangeKind : std::uint8_t {
  Anonymous = 0,
  Break = 1,       // brk's
  AboveGuard = 2,  // a page without access lies below it, as below a thread's stack
  BehindFile = 3,  // follows a file's writable pages without a gap, as its zeroed data does
};
inline constexpr RangeKind kLastRangeKind = RangeKind::BehindFile;

// Private memory without a file. The reader of a trace finds its owner: only the events have all calls of mmap.
struct ResidentPiece {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
  std::uint64_t resident_bytes = 0;
  RangeKind kind = RangeKind::Anonymous;

  bool operator==(const ResidentPiece&) const = default;
};

struct MemoryReading {
  std::uint64_t stamp = 0;
  // Resident bytes. Together with those of `pieces` they are the RSS.
  std::uint64_t recorder_bytes = 0;
  std::uint64_t file_bytes = 0;        // programs, libraries, mapped files
  std::uint64_t shared_bytes = 0;      // shared memory
  std::uint64_t stack_bytes = 0;       // of the first thread
  std::uint64_t other_bytes = 0;       // pages of the kernel; pieces beyond kMostPieces
  std::uint64_t huge_bytes = 0;        // of all of these: anonymous huge pages
  std::uint64_t page_table_bytes = 0;  // not in the RSS
  std::vector<ResidentPiece> pieces;   // ascending, disjoint; see FORMAT.md

  static constexpr std::size_t kMostPieces = 1 << 14;
  bool operator==(const MemoryReading&) const = default;
};

}  // namespace tare::trace
