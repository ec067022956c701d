// Merging of timeline buckets.
#include "core/analysis/timeline.h"

#include <algorithm>

namespace tare::core {

void Timeline::append(const TimelineRow& row) {
  if (!rows_.empty() && rows_.back().bucket == row.bucket) {
    const std::uint64_t max_gross_q = std::max(rows_.back().max_gross_q, row.max_gross_q);
    rows_.back() = row;
    rows_.back().max_gross_q = max_gross_q;
  } else {
    rows_.push_back(row);
  }
}

void Timeline::add(TimelineRow row) {
  row.bucket = bucket_of(row.last_stamp);
  append(row);
  if (rows_.size() > kMostRows) widen();
}

// To half the number of rows at most, so that the next widening is far away also where buckets between rows are empty.
void Timeline::widen() {
  while (rows_.size() > kMostRows / 2) {
    ++shift_;
    std::vector<TimelineRow> narrow;
    narrow.swap(rows_);
    for (TimelineRow& row : narrow) {
      row.bucket >>= 1;
      append(row);
    }
  }
}

}  // namespace tare::core
