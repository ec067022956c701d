// Reads /proc/PID/maps: see memory_map.h.
#include "core/process_memory/memory_map.h"

#include <charconv>

#include "trace/base/process_files.h"

namespace tare::core {
namespace {

bool take_hex(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

// "START-END rwxp OFFSET MAJOR:MINOR INODE   NAME"
bool parse_line(std::string_view line, MappedRange& mapped) {
  if (!take_hex(line, mapped.range.start) || !take_char(line, '-') || !take_hex(line, mapped.range.end)) return false;
  if (!take_char(line, ' ') || line.size() < 4 || mapped.range.end <= mapped.range.start) return false;
  mapped.readable = line[0] == 'r';
  mapped.writable = line[1] == 'w';
  mapped.executable = line[2] == 'x';
  mapped.shared = line[3] == 's';
  for (int field = 0; field < 4; ++field) {  // permissions, offset, device, inode
    if (field == 3) std::from_chars(line.data(), line.data() + line.size(), mapped.inode);
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return true;  // no name
    line.remove_prefix(blank + 1);
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapped.name = line;
  return true;
}

}  // namespace

std::vector<MappedRange> parse_memory_map(std::string_view text) {
  std::vector<MappedRange> ranges;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    MappedRange mapped;
    if (parse_line(text.substr(0, end), mapped)) ranges.push_back(std::move(mapped));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return ranges;
}

std::vector<MappedRange> memory_map_of(pid_t pid) {
  return parse_memory_map(trace::read_process_file(pid, "maps").value_or(""));
}

}  // namespace tare::core
