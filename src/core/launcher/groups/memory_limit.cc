// Reads limits of control groups: see memory_limit.h.
#include "core/launcher/groups/memory_limit.h"

#include <algorithm>
#include <fstream>

#include "trace/base/process_files.h"
#include "trace/spool/spool_layout.h"

namespace tare::core {
namespace {

// Version 1 writes a number near 2^63 for none, version 2 "max".
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  if (!(file >> bytes) || bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

// Of `group` in `hierarchy`, and of all above it. A container may see its own group as "/", and a longer path of which
// nothing exists.
std::optional<std::uint64_t> lowest(const std::string& hierarchy, std::string group, const std::string& file) {
  std::optional<std::uint64_t> found;
  while (true) {
    if (const auto bytes = number_in(hierarchy + group + "/" + file)) found = std::min(found.value_or(*bytes), *bytes);
    if (group.empty()) return found;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

std::optional<std::uint64_t> memory_limit_bytes(std::string_view groups, const std::string& root) {
  std::optional<std::uint64_t> found;
  while (!groups.empty()) {
    const std::size_t end = std::min(groups.find('\n'), groups.size());
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(std::min(end + 1, groups.size()));
    const std::size_t first = line.find(':');  // "NUMBER:CONTROLLER,...:PATH"
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    std::string group(line.substr(second + 1));
    if (group == "/") group.clear();
    std::optional<std::uint64_t> bytes;
    if (controllers == ",,") {
      bytes = lowest(root, group, "memory.max");
    } else if (controllers.find(",memory,") != std::string::npos) {
      bytes = lowest(root + "/memory", group, "memory.limit_in_bytes");
    }
    if (bytes) found = std::min(found.value_or(*bytes), *bytes);
  }
  return found;
}

std::optional<std::uint64_t> memory_limit_bytes() {
  return memory_limit_bytes(trace::read_kernel_file("/proc/self/cgroup").value_or(""), "/sys/fs/cgroup");
}

std::uint64_t spool_bytes_under(std::uint64_t limit_bytes) {
  constexpr std::uint64_t kLeast = 2 << 20;
  constexpr std::uint64_t kUsual = trace::kDefaultLaunchedChunks * trace::kChunkBytes;
  if (limit_bytes == 0 || limit_bytes / 64 >= kUsual) return 0;
  return std::max(limit_bytes / 64, kLeast);
}

std::uint64_t spool_bytes_within_limit(std::uint64_t wanted) {
  return wanted != 0 ? wanted : spool_bytes_under(memory_limit_bytes().value_or(0));
}

}  // namespace tare::core
