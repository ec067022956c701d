// CPU time that recorded calls of a sampling recorder take from the program: ticks around their work, never around the
// allocator's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/base/stamp.h"

namespace tare::recorder {

// A thread that loses its processor inside a recorded call would count the time of others, milliseconds for a call of a
// microsecond. On two busy processors this happens to one call in a thousand. The first calls, which read unwind
// tables, take less than this.
inline constexpr std::uint64_t kMostTicksOfCall = 3'000'000;

class OwnCost {
 public:
  void add(std::uint64_t ticks) {
    ticks_.fetch_add(ticks < kMostTicksOfCall ? ticks : kMostTicksOfCall, std::memory_order_relaxed);
  }
  std::uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> ticks_{0};
};

extern TARE_HIDDEN OwnCost own_cost;

// From its making to its end, without the time between pause() and go_on(), in which the allocator works.
class CostOfCall {
 public:
  explicit CostOfCall(bool is_counted = true) : begin_(is_counted ? stamp() : 0), is_counted_(is_counted) {}
  ~CostOfCall() {
    if (is_counted_) own_cost.add(before_ + stamp() - begin_);
  }
  CostOfCall(const CostOfCall&) = delete;
  CostOfCall& operator=(const CostOfCall&) = delete;
  void pause() { before_ += stamp() - begin_; }
  void go_on() { begin_ = stamp(); }

 private:
  std::uint64_t begin_;
  std::uint64_t before_ = 0;
  bool is_counted_;
};

}  // namespace tare::recorder
