// The search in the process's mappings: see code_gap.h.
#include "core/injection/code_gap.h"

#include <algorithm>
#include <vector>

#include "core/process_memory/memory_map.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kLowest = 1 << 20;
constexpr std::uint64_t kUserEnd = 0x7fff'ffff'f000;

bool is_private_code(const MappedRange& mapped) {
  return mapped.readable && !mapped.writable && mapped.executable && !mapped.shared;
}

std::uint64_t gap_in(const LoadedObject& object, const std::vector<MappedRange>& mappings) {
  const std::uint64_t page_end = (object.code_end + kCodePageBytes - 1) & ~(kCodePageBytes - 1);
  if (object.code_end == 0 || page_end - object.code_end < kGapBytes) return 0;
  for (const MappedRange& mapped : mappings) {
    if (is_private_code(mapped) && mapped.range.end == page_end) return page_end - kGapBytes;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> find_code_gap(pid_t pid, const LoadedObjects& objects) {
  const std::vector<MappedRange> mappings = memory_map_of(pid);
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
      at = (before + (largest - bytes) / 2) & ~(kCodePageBytes - 1);
    }
  };
  for (const MappedRange& mapped : memory_map_of(pid)) {
    if (mapped.range.start >= kUserEnd) break;
    consider(mapped.range.start);
    before = std::max(before, mapped.range.end);
  }
  consider(kUserEnd);
  return largest >= bytes + 2 * kCodePageBytes ? at : 0;
}

}  // namespace tare::core
