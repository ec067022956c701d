// Summing failed requests: see failed_requests.h.
#include "core/analysis/calls/failed_requests.h"

#include <algorithm>

#include "trace/model/api.h"

namespace tare::core {

void FailedRequests::add(const trace::Event& event, const trace::Shape& shape) {
  const bool is_known = event.api < 32 && (trace::kKnownAllocApis >> event.api & 1) != 0;  // a trace may be damaged
  const auto api = is_known ? static_cast<trace::AllocApi>(event.api) : trace::AllocApi::Unknown;
  Sum& sum = sums_[{trace::index(shape.stack), api}];
  if (sum.requests++ == 0) sum.first_stamp = event.stamp;
  sum.min_bytes = std::min(sum.min_bytes, shape.requested_bytes);
  sum.max_bytes = std::max(sum.max_bytes, shape.requested_bytes);
  sum.last_stamp = event.stamp;
  sum.last_bytes = shape.requested_bytes;
  sum.last_thread = event.thread;
  sum.last_number = ++requests_;
}

}  // namespace tare::core
