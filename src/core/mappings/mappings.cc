// A set of disjoint ranges; mapping over a mapping replaces it, as MAP_FIXED does.
#include "core/mappings/mappings.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tare::core {
namespace {

std::uint64_t end_of(std::uint64_t start, std::uint64_t length) {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - start;
  return start + std::min(length, room);
}

}  // namespace

void Mappings::map(std::uint64_t start, std::uint64_t length, trace::StackId stack, std::uint64_t stamp) {
  const std::uint64_t end = end_of(start, length);
  if (end == start) return;
  cut(start, end, [](Sums&, std::uint64_t, const Range&) {});
  ranges_.emplace(start, Range{end, stack, stamp});
  Sums& sums = sums_[trace::index(stack)];
  ++sums.maps;
  sums.mapped_bytes += end - start;
  sums.bytes += end - start;
  sums.peak_bytes = std::max(sums.peak_bytes, sums.bytes);
  bytes_ += end - start;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
}

void Mappings::unmap(std::uint64_t start, std::uint64_t length, std::uint64_t stamp) {
  cut(start, end_of(start, length), [stamp](Sums& sums, std::uint64_t bytes, const Range& range) {
    sums.unmapped_bytes += bytes;
    sums.unmapped_byte_ticks += static_cast<double>(bytes) * static_cast<double>(stamp - std::min(stamp, range.since));
  });
}

template <typename Removed>
void Mappings::cut(std::uint64_t start, std::uint64_t end, const Removed& removed) {
  auto it = ranges_.upper_bound(start);
  if (it != ranges_.begin() && std::prev(it)->second.end > start) --it;
  while (it != ranges_.end() && it->first < end) {
    const auto [old_start, old] = *it;
    it = ranges_.erase(it);
    const std::uint64_t bytes = std::min(old.end, end) - std::max(old_start, start);
    Sums& sums = sums_[trace::index(old.stack)];
    bytes_ -= bytes;
    sums.bytes -= bytes;
    removed(sums, bytes, old);
    if (old_start < start) ranges_.emplace(old_start, Range{start, old.stack, old.since});
    if (old.end > end) it = ranges_.emplace(end, old).first;
  }
}

}  // namespace tare::core
