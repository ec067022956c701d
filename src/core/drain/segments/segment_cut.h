// Where the present segment of a recording ends: a stamp, chosen by the size of the file and by how far all threads
// have been decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/drain/segments/segment_files.h"

namespace tare::core {

class SegmentCut {
 public:
  SegmentCut() = default;
  explicit SegmentCut(const SegmentLimits& limits) : limits_(limits) {}

  bool wanted() const { return limits_.wanted(); }
  const SegmentLimits& limits() const { return limits_; }

  // All events before `stamp` have been decoded, of all threads. Returns the stamp of the call before.
  std::uint64_t settle(std::uint64_t stamp);
  std::uint64_t settled_stamp() const { return settled_stamp_; }
  // True if a thread hangs inside an allocation. Of the others, `waiting_chunks` are kept meanwhile.
  bool is_held_back(std::size_t waiting_chunks) const;

  // The first stamp of the next segment, if it has been found.
  const std::optional<std::uint64_t>& stamp() const { return stamp_; }
  void set(std::uint64_t stamp) { stamp_ = stamp; }
  void clear() { stamp_.reset(); }
  bool is_settled() const { return stamp_ && settled_stamp_ >= *stamp_; }
  // A stopped process makes no earlier events than `now`.
  void settle_all(std::uint64_t now);

  // Bytes that a segment may have, and those of a file of `file_bytes` with `events` after `pending` more events.
  std::uint64_t most_bytes() const;
  std::uint64_t bytes_with(std::uint64_t file_bytes, std::uint64_t events, std::uint64_t pending) const;

  // The segment's file has `file_bytes` and `events`.
  void close(std::uint64_t file_bytes, std::uint64_t events);
  std::uint64_t closed_bytes() const { return closed_bytes_; }  // of all closed segments
  void begin(std::uint64_t head_bytes) { head_bytes_ = head_bytes; }
  bool has_large_head() const { return head_bytes_ > limits_.max_bytes / 2; }
  std::uint64_t head_bytes() const { return head_bytes_; }  // of the file, before its first event

 private:
  std::uint64_t event_bytes_of(std::uint64_t file_bytes, std::uint64_t events) const;

  SegmentLimits limits_;
  std::optional<std::uint64_t> stamp_;
  std::uint64_t settled_stamp_ = 0;
  std::uint64_t settled_since_ns_ = 0;  // the time of the last change of settled_stamp_
  std::uint32_t passes_since_settled_ = 0;
  std::uint64_t event_bytes_ = 12;  // in the file, stacks and sizes included: a guess, then the last segment's
  std::uint64_t head_bytes_ = 0;
  std::uint64_t closed_bytes_ = 0;
};

}  // namespace tare::core
