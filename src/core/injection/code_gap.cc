// Reads /proc/PID/maps: see code_gap.h.
#include "core/injection/code_gap.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "trace/base/process_files.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLowest = 1 << 20;
constexpr std::uint64_t kUserEnd = 0x7fff'ffff'f000;

struct Mapped {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool is_private_code = false;  // and readable
};

// "START-END rwxp ..."
std::vector<Mapped> mappings_of(pid_t pid) {
  const std::string text = trace::read_process_file(pid, "maps").value_or("");
  std::vector<Mapped> all;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    Mapped mapped;
    const char* const end = line.data() + line.size();
    const auto start = std::from_chars(line.data(), end, mapped.start, 16);
    if (start.ec != std::errc{} || start.ptr == end) continue;
    const auto stop = std::from_chars(start.ptr + 1, end, mapped.end, 16);
    if (stop.ec != std::errc{} || end - stop.ptr < 5) continue;
    mapped.is_private_code = std::string_view(stop.ptr + 1, 4) == "r-xp";
    all.push_back(mapped);
  }
  return all;
}

std::uint64_t gap_in(const LoadedObject& object, const std::vector<Mapped>& mappings) {
  const std::uint64_t page_end = (object.code_end + kPage - 1) & ~(kPage - 1);
  if (object.code_end == 0 || page_end - object.code_end < kGapBytes) return 0;
  for (const Mapped& mapped : mappings) {
    if (mapped.is_private_code && mapped.end == page_end) return page_end - kGapBytes;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> find_code_gap(pid_t pid, const LoadedObjects& objects) {
  const std::vector<Mapped> mappings = mappings_of(pid);
  if (const LoadedObject* const libc = objects.defining("gnu_get_libc_version"); libc != nullptr) {
    if (const std::uint64_t gap = gap_in(*libc, mappings); gap != 0) return gap;
  }
  for (const LoadedObject& object : objects.all()) {
    if (const std::uint64_t gap = gap_in(object, mappings); gap != 0) return gap;
  }
  return std::nullopt;
}

std::uint64_t find_free_range(pid_t pid, std::uint64_t bytes) {
  std::uint64_t largest = 0;
  std::uint64_t at = 0;
  std::uint64_t before = kLowest;
  const auto consider = [&](std::uint64_t start) {
    if (start > before && start - before > largest) {
      largest = start - before;
      at = (before + (largest - bytes) / 2) & ~(kPage - 1);
    }
  };
  for (const Mapped& mapped : mappings_of(pid)) {
    if (mapped.start >= kUserEnd) break;
    consider(mapped.start);
    before = std::max(before, mapped.end);
  }
  consider(kUserEnd);
  return largest >= bytes + 2 * kPage ? at : 0;
}

}  // namespace tare::core
