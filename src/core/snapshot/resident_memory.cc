// Reads smaps and sorts its ranges: see resident_memory.h.
#include "core/snapshot/resident_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "trace/base/process_files.h"

namespace tare::core {
namespace {

using trace::MemoryKind;
using trace::MemoryPart;

// "Rss:                 132 kB"
bool take_field(std::string_view line, std::string_view name, std::uint64_t& bytes) {
  if (!line.starts_with(name)) return false;
  line.remove_prefix(std::min(line.find_first_not_of(' ', name.size()), line.size()));
  std::uint64_t kib = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), kib).ec != std::errc{} || kib > UINT64_MAX / 1024)
    return false;
  bytes = kib * 1024;
  return true;
}

// "VmFlags: rd wr mr mw me ac um": pages that are missing, or present in the file only.
bool names_served_faults(std::string_view line) {
  return line.starts_with("VmFlags:") &&
         (line.find(" um") != std::string_view::npos || line.find(" ui") != std::string_view::npos);
}

bool overlaps(const AddressRange& range, std::span<const AddressRange> sorted) {
  const auto next = std::lower_bound(sorted.begin(), sorted.end(), range.start,
                                     [](const AddressRange& one, std::uint64_t start) { return one.end <= start; });
  return next != sorted.end() && next->start < range.end;
}

MemoryKind kind_of(const MappedRange& mapped, const RootFacts& facts) {
  const std::string& name = mapped.name;
  if (!facts.spool_folder.empty() && name.starts_with(facts.spool_folder)) return MemoryKind::Recorder;
  if (!facts.recorder_library.empty() && name == facts.recorder_library) return MemoryKind::Recorder;
  const auto holds_stack = [&](const ThreadState& thread) {
    return thread.stack_pointer >= mapped.range.start && thread.stack_pointer < mapped.range.end;
  };
  if (name.starts_with("[stack") || std::any_of(facts.threads.begin(), facts.threads.end(), holds_stack))
    return MemoryKind::Stack;
  if (name == "[heap]") return MemoryKind::Heap;
  if (!name.empty() && name.front() != '[') return MemoryKind::File;
  if (holds_blocks(mapped.range, facts.blocks)) return MemoryKind::Heap;
  return overlaps(mapped.range, facts.program_mappings) ? MemoryKind::Mapping : MemoryKind::Other;
}

}  // namespace

std::vector<ResidentRange> parse_resident_ranges(std::string_view text) {
  std::vector<ResidentRange> ranges;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    // A range begins with a line of /proc/PID/maps; fields begin with a capital letter.
    if (std::vector<MappedRange> mapped = parse_memory_map(line); !mapped.empty()) {
      ranges.push_back({std::move(mapped.front())});
    } else if (!ranges.empty() && !take_field(line, "Rss:", ranges.back().resident_bytes) &&
               !take_field(line, "Referenced:", ranges.back().touched_bytes) &&
               !take_field(line, "AnonHugePages:", ranges.back().huge_bytes)) {
      ranges.back().has_served_faults |= names_served_faults(line);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return ranges;
}

std::vector<ResidentRange> resident_ranges_of(pid_t pid) {
  return parse_resident_ranges(trace::read_process_file(pid, "smaps").value_or(""));
}

std::vector<AddressRange> ranges_with_served_faults(std::span<const ResidentRange> ranges) {
  std::vector<AddressRange> found;
  for (const ResidentRange& range : ranges) {
    if (range.has_served_faults) found.push_back(range.mapped.range);
  }
  return found;
}

std::vector<MemoryPart> memory_parts(std::span<const ResidentRange> ranges, const RootFacts& facts) {
  std::map<std::pair<MemoryKind, std::string>, MemoryPart> parts;
  for (const ResidentRange& range : ranges) {
    const MemoryKind kind = kind_of(range.mapped, facts);
    const std::string name = kind == MemoryKind::File ? range.mapped.name : std::string();
    MemoryPart& part = parts[{kind, name}];
    part.kind = kind;
    part.name = name;
    part.mapped_bytes += range.mapped.range.bytes();
    part.resident_bytes += range.resident_bytes;
    part.touched_bytes += range.touched_bytes;
  }
  std::vector<MemoryPart> sorted;
  for (auto& [key, part] : parts) sorted.push_back(std::move(part));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.resident_bytes > b.resident_bytes; });
  return sorted;
}

bool forget_touched(pid_t pid) {
  const int file = ::open(("/proc/" + std::to_string(pid) + "/clear_refs").c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, "1", 1) == 1;
  ::close(file);
  return written;
}

}  // namespace tare::core
