// Requests that the allocator couldn't serve, summed by stack and entry point: table `failed_requests`.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "trace/model/event.h"

namespace tare::core {

class FailedRequests {
 public:
  struct Sum {
    std::uint64_t requests = 0;
    std::uint64_t min_bytes = ~std::uint64_t{0};
    std::uint64_t max_bytes = 0;
    std::uint64_t first_stamp = 0;
    std::uint64_t last_stamp = 0;
    std::uint64_t last_bytes = 0;
    std::uint64_t last_number = 0;  // among all failed requests, for stamps may be equal
    std::uint16_t last_thread = 0;
  };
  // By stack and entry point. A program that is out of memory may retry for long: a row a request would have no bound.
  using Sums = std::map<std::pair<std::uint32_t, trace::AllocApi>, Sum>;

  void add(const trace::Event& event, const trace::Shape& shape);
  const Sums& sums() const { return sums_; }

 private:
  Sums sums_;
  std::uint64_t requests_ = 0;
};

}  // namespace tare::core
