// A set of disjoint ranges; mapping over a mapping replaces it, as MAP_FIXED does.
#include "core/analysis/mappings.h"

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

void Mappings::map(std::uint64_t start, std::uint64_t length) {
  const std::uint64_t end = end_of(start, length);
  if (end == start) return;
  unmap(start, length);
  ends_.emplace(start, end);
  bytes_ += end - start;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
}

void Mappings::unmap(std::uint64_t start, std::uint64_t length) {
  const std::uint64_t end = end_of(start, length);
  auto it = ends_.upper_bound(start);
  if (it != ends_.begin() && std::prev(it)->second > start) --it;
  while (it != ends_.end() && it->first < end) {
    const auto [old_start, old_end] = *it;
    it = ends_.erase(it);
    bytes_ -= std::min(old_end, end) - std::max(old_start, start);
    if (old_start < start) ends_.emplace(old_start, start);
    if (old_end > end) it = ends_.emplace(end, old_end).first;
  }
}

}  // namespace tare::core
