// See segment_cut.h.
#include "core/drain/segments/segment_cut.h"

#include <algorithm>
#include <utility>

#include "trace/base/clock_ns.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kLeastKnownEvents = 50'000;  // in the file, before their mean size is used
// A thread that hangs inside an allocation holds the others back: for so long, unless they fill as many chunks.
constexpr std::uint64_t kLongestWaitNs = 500'000'000;
constexpr std::size_t kMostWaitingChunks = 8;
constexpr std::uint32_t kLeastPasses = 4;  // of draining, each of which takes as long as there is much to do

}  // namespace

std::uint64_t SegmentCut::settle(std::uint64_t stamp) {
  const std::uint64_t before = std::exchange(settled_stamp_, stamp);
  if (stamp != before) {
    settled_since_ns_ = trace::monotonic_ns();
    passes_since_settled_ = 0;
  }
  ++passes_since_settled_;
  return before;
}

bool SegmentCut::is_held_back(std::size_t waiting_chunks) const {
  if (waiting_chunks < kMostWaitingChunks || passes_since_settled_ < kLeastPasses) return false;
  return trace::monotonic_ns() - settled_since_ns_ > kLongestWaitNs;
}

void SegmentCut::settle_all(std::uint64_t now) { settled_stamp_ = std::max(now, stamp_.value_or(0)); }

// Live blocks may need more than a segment's size.
std::uint64_t SegmentCut::most_bytes() const {
  return std::max(limits_.max_bytes - limits_.max_bytes / 8, head_bytes_ + limits_.max_bytes / 2);
}

std::uint64_t SegmentCut::event_bytes_of(std::uint64_t file_bytes, std::uint64_t events) const {
  return (file_bytes - std::min(file_bytes, head_bytes_)) / events + 1;
}

std::uint64_t SegmentCut::bytes_with(std::uint64_t file_bytes, std::uint64_t events, std::uint64_t pending) const {
  std::uint64_t bytes_each = event_bytes_;
  if (events > kLeastKnownEvents) bytes_each = std::max(bytes_each, event_bytes_of(file_bytes, events));
  return file_bytes + pending * bytes_each;
}

void SegmentCut::close(std::uint64_t file_bytes, std::uint64_t events) {
  closed_bytes_ += file_bytes;
  if (events > kLeastKnownEvents) event_bytes_ = event_bytes_of(file_bytes, events);
}

}  // namespace tare::core
