// Reads the recorder's list and splits mappings by it: see recorder_memory.h.
#include "core/snapshot/recorder_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "trace/model/own_ranges.h"

namespace tare::core {

using trace::OwnRange;
using trace::OwnRanges;

namespace {

struct Piece {
  AddressRange range;
  bool cut = false;
};

// `cut`: ascending and disjoint. The pieces are in order, and all of `whole`.
std::vector<Piece> split(const AddressRange& whole, std::span<const AddressRange> cut) {
  std::vector<Piece> pieces;
  std::uint64_t at = whole.start;
  auto next = std::lower_bound(cut.begin(), cut.end(), whole.start,
                               [](const AddressRange& one, std::uint64_t start) { return one.end <= start; });
  for (; next != cut.end() && next->start < whole.end; ++next) {
    const AddressRange inside{std::max(next->start, whole.start), std::min(next->end, whole.end)};
    if (at < inside.start) pieces.push_back({{at, inside.start}, false});
    pieces.push_back({inside, true});
    at = inside.end;
  }
  if (at < whole.end) pieces.push_back({{at, whole.end}, false});
  return pieces;
}

}  // namespace

std::vector<AddressRange> recorder_ranges(MemorySource& memory, std::uint64_t list) {
  std::vector<AddressRange> found;
  if (list == 0) return found;
  std::vector<std::uint8_t> bytes(sizeof(OwnRanges));
  if (memory.read(list, bytes) != bytes.size()) return found;
  std::uint32_t count = 0;
  std::memcpy(&count, bytes.data() + offsetof(OwnRanges, count), sizeof count);
  for (std::uint32_t i = 0; i < std::min(count, OwnRanges::kMost); ++i) {
    std::uint64_t words[2];
    static_assert(sizeof words == sizeof(OwnRange));
    std::memcpy(words, bytes.data() + offsetof(OwnRanges, ranges) + i * sizeof words, sizeof words);
    const AddressRange range{words[0], words[0] + words[1]};
    if (range.start < range.end) found.push_back(range);
  }
  std::sort(found.begin(), found.end(), [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  const auto overlaps = [](const AddressRange& a, const AddressRange& b) { return b.start < a.end; };
  found.erase(std::unique(found.begin(), found.end(), overlaps), found.end());
  return found;
}

std::vector<MappedRange> without_ranges(std::span<const MappedRange> map, std::span<const AddressRange> cut) {
  std::vector<MappedRange> left;
  for (const MappedRange& mapped : map) {
    for (const Piece& piece : split(mapped.range, cut)) {
      if (piece.cut) continue;
      left.push_back(mapped);
      left.back().range = piece.range;
    }
  }
  return left;
}

std::vector<ResidentRange> with_recorder_named(std::vector<ResidentRange> ranges,
                                               std::span<const AddressRange> recorder, const std::string& library,
                                               const std::function<std::uint64_t(const AddressRange&)>& present_bytes) {
  std::vector<ResidentRange> named;
  for (ResidentRange& whole : ranges) {
    const std::vector<Piece> pieces = split(whole.mapped.range, recorder);
    if (pieces.size() == 1 && !pieces.front().cut) {
      named.push_back(std::move(whole));
      continue;
    }
    for (const Piece& piece : pieces) {
      ResidentRange& part = named.emplace_back(whole);
      part.mapped.range = piece.range;
      if (piece.cut) part.mapped.name = library;
      part.resident_bytes = std::min(present_bytes(piece.range), whole.resident_bytes);
      part.touched_bytes = std::min(part.resident_bytes, whole.touched_bytes);
      part.huge_bytes = std::min(part.resident_bytes, whole.huge_bytes);
      whole.resident_bytes -= part.resident_bytes;
      whole.touched_bytes -= part.touched_bytes;
      whole.huge_bytes -= part.huge_bytes;
    }
  }
  return named;
}

}  // namespace tare::core
