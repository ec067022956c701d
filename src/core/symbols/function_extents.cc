// Reads the sorted table of .eh_frame_hdr: pairs of 32-bit offsets from the section's own address.
#include "core/symbols/function_extents.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tare::core {
namespace {

// version 1; encodings of the pointer to .eh_frame (4 bytes), of the count (4 bytes) and of the table (signed, 4 bytes)
constexpr std::string_view kUsualForm("\x01\x1b\x03\x3b", 4);
constexpr std::size_t kCountAt = 8;
constexpr std::size_t kTableAt = 12;
constexpr std::size_t kEntryBytes = 8;  // the function's begin, and its rules

}  // namespace

FunctionExtents::FunctionExtents(const ElfFile& file) {
  const std::string_view table = file.section(".eh_frame_hdr");
  const std::optional<std::uint64_t> address = file.section_address(".eh_frame_hdr");
  if (!address || table.size() < kTableAt || !table.starts_with(kUsualForm)) return;
  std::uint32_t count = 0;
  std::memcpy(&count, table.data() + kCountAt, sizeof count);
  if (count > (table.size() - kTableAt) / kEntryBytes) return;
  begins_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t offset = 0;
    std::memcpy(&offset, table.data() + kTableAt + i * kEntryBytes, sizeof offset);
    begins_.push_back(*address + static_cast<std::uint64_t>(std::int64_t{offset}));
  }
  if (!std::is_sorted(begins_.begin(), begins_.end())) begins_.clear();
}

std::optional<FunctionExtent> FunctionExtents::find(std::uint64_t address) const {
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), address);
  if (next == begins_.begin() || next == begins_.end()) return std::nullopt;
  const std::uint64_t begin = *std::prev(next);
  return FunctionExtent{begin, *next - begin};
}

}  // namespace tare::core
