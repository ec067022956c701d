// The heap's course in at most 1024 rows, however long the run: buckets double in width when they become too many.
#pragma once

#include <cstdint>
#include <vector>

namespace tare::core {

// Byte and block figures in 1/4096, so that weighted sums stay exact under adding and removing (see ShapeSums).
struct TimelineRow {
  std::uint64_t bucket = 0;      // (stamp - origin) >> shift
  std::uint64_t last_stamp = 0;  // of the last event in it: the row's time
  std::uint64_t requested_q = 0;
  std::uint64_t usable_q = 0;
  std::uint64_t gross_q = 0;
  std::uint64_t max_gross_q = 0;  // within the bucket
  std::uint64_t blocks_q = 0;
  std::uint64_t mapped_bytes = 0;
  std::uint64_t alloc_events = 0;  // since the start of the recording
  std::uint64_t free_events = 0;
};

class Timeline {
 public:
  static constexpr std::size_t kMostRows = 1024;

  explicit Timeline(std::uint64_t origin = 0) : origin_(origin) {}

  std::uint64_t bucket_of(std::uint64_t stamp) const { return (stamp - origin_) >> shift_; }
  // First stamp that no longer belongs to the bucket of `stamp`.
  std::uint64_t end_of_bucket(std::uint64_t stamp) const {
    const std::uint64_t end = origin_ + ((bucket_of(stamp) + 1) << shift_);
    return end > stamp ? end : ~std::uint64_t{0};
  }
  // Rows come with ascending last_stamp; one in the same bucket as the row before it is merged into that.
  void add(TimelineRow row);
  const std::vector<TimelineRow>& rows() const { return rows_; }

 private:
  void append(const TimelineRow& row);
  void widen();

  std::uint64_t origin_;
  int shift_ = 12;  // 4096 ticks, about 2 us: short runs have a timeline too
  std::vector<TimelineRow> rows_;
};

}  // namespace tare::core
