// Sorts ranges of smaps by their names and neighbours: see memory_reading.h.
#include "core/snapshot/memory_reading.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/process_memory/process_memory.h"
#include "core/snapshot/recorder_memory.h"
#include "trace/base/process_files.h"

namespace tare::core {
namespace {

using trace::MemoryReading;
using trace::RangeKind;
using trace::ResidentPiece;

constexpr std::uint64_t kLeastUntouchedBytes = 1 << 20;  // smaller ranges without a resident page aren't listed
constexpr std::uint64_t kMostStackBytes = 64 << 20;  // a larger range above a page without access is no thread's stack

// Anonymous shared mappings, memfds, segments of System V and of POSIX.
bool is_shared_memory(const MappedRange& mapped) {
  if (!mapped.shared) return false;
  for (const std::string_view start : {"/dev/zero", "/memfd:", "/SYSV", "/dev/shm/"}) {
    if (mapped.name.starts_with(start)) return true;
  }
  return false;
}

bool is_file(const MappedRange& mapped) { return !mapped.name.empty() && mapped.name.front() != '['; }

// Of a line such as "VmPTE:\t  120 kB"; 0: none.
std::uint64_t bytes_in_status(pid_t pid, std::string_view name) {
  const std::string status = trace::read_process_file(pid, "status").value_or("");
  std::size_t at = status.find(name);
  if (at == std::string::npos) return 0;
  at = status.find_first_not_of(" \t", at + name.size());
  std::uint64_t kib = 0;
  if (at != std::string::npos) std::from_chars(status.data() + at, status.data() + status.size(), kib);
  return kib << 10;
}

RangeKind kind_of(const MappedRange& mapped, const MappedRange* below) {
  if (mapped.name == "[heap]") return RangeKind::Break;
  const bool follows = below != nullptr && below->range.end == mapped.range.start;
  if (follows && below->writable && is_file(*below)) return RangeKind::BehindFile;
  const bool guarded = follows && !below->readable && !below->writable && below->name.empty();
  return guarded && mapped.range.bytes() <= kMostStackBytes ? RangeKind::AboveGuard : RangeKind::Anonymous;
}

}  // namespace

std::optional<std::uint64_t> resident_bytes_of(pid_t pid) {
  const std::optional<std::string> statm = trace::read_process_file(pid, "statm");
  if (!statm) return std::nullopt;
  const std::size_t blank = statm->find(' ');
  std::uint64_t pages = 0;
  if (blank == std::string::npos) return std::nullopt;
  std::from_chars(statm->data() + blank + 1, statm->data() + statm->size(), pages);
  if (pages == 0) return std::nullopt;  // a zombie
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t peak_resident_bytes_of(pid_t pid) { return bytes_in_status(pid, "\nVmHWM:"); }

MemoryReading sorted_reading(const std::vector<ResidentRange>& ranges, const ReadingFacts& facts) {
  MemoryReading reading;
  const ResidentRange* below = nullptr;
  for (const ResidentRange& range : ranges) {
    const MappedRange& mapped = range.mapped;
    const std::uint64_t bytes = range.resident_bytes;
    const bool is_listed =
        bytes != 0 || (mapped.range.bytes() >= kLeastUntouchedBytes && (mapped.readable || mapped.writable));
    const bool is_recorder = (!facts.recorder_library.empty() && mapped.name == facts.recorder_library) ||
                             (!facts.spool_folder.empty() && mapped.name.starts_with(facts.spool_folder));
    reading.huge_bytes += range.huge_bytes;
    if (is_recorder) {
      reading.recorder_bytes += bytes;
    } else if (is_shared_memory(mapped)) {
      reading.shared_bytes += bytes;
    } else if (is_file(mapped)) {
      reading.file_bytes += bytes;
    } else if (mapped.name.starts_with("[stack")) {
      reading.stack_bytes += bytes;
    } else if (mapped.name.starts_with("[v") || (bytes != 0 && reading.pieces.size() == MemoryReading::kMostPieces)) {
      reading.other_bytes += bytes;
    } else if (is_listed) {
      reading.pieces.push_back({mapped.range.start, mapped.range.bytes(), bytes,
                                kind_of(mapped, below == nullptr ? nullptr : &below->mapped)});
    }
    below = &range;
  }
  return reading;
}

std::optional<MemoryReading> read_memory(pid_t pid, const ReadingFacts& facts) {
  const std::vector<ResidentRange> ranges = resident_ranges_of(pid);
  const auto has_spool = [&](const ResidentRange& range) { return range.mapped.name.starts_with(facts.spool_path); };
  if (std::none_of(ranges.begin(), ranges.end(), has_spool)) return std::nullopt;
  std::vector<MappedRange> map;
  map.reserve(ranges.size());
  for (const ResidentRange& range : ranges) map.push_back(range.mapped);
  ProcessMemory memory(pid, map);
  const auto present_bytes = [&](const AddressRange& range) { return range.bytes() - memory.absent_bytes(range); };
  const std::vector<AddressRange> recorder = recorder_ranges(memory, facts.own_ranges);
  MemoryReading reading =
      sorted_reading(with_recorder_named(ranges, recorder, facts.recorder_library, present_bytes), facts);
  reading.page_table_bytes = bytes_in_status(pid, "\nVmPTE:");
  return reading;
}

}  // namespace tare::core
