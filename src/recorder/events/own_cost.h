// CPU time that recorded calls of a sampling recorder take from the program: their work, never the allocator's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/base/stamp.h"

namespace tare::recorder {

class OwnCost {
 public:
  // Until then, calls aren't measured.
  void measure() { is_measured_.store(true, std::memory_order_relaxed); }
  bool is_measured() const { return is_measured_.load(std::memory_order_relaxed); }

  // `cpu_begin_ns`: the thread's CPU time at the call's begin. 0: unknown.
  void add(std::uint64_t ticks, std::uint64_t cpu_begin_ns) {
    if (TARE_LIKELY(ticks <= most_usual_ticks_.load(std::memory_order_relaxed))) {
      ticks_.fetch_add(ticks, std::memory_order_relaxed);
    } else {
      add_long(ticks, cpu_begin_ns);
    }
  }
  std::uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }
  // Of long calls, in addition to ticks().
  std::uint64_t long_ns() const { return long_ns_.load(std::memory_order_relaxed); }
  // The part of long_ns() beyond most_usual_ns: calls that read the unwind tables of a new module, or thinned the
  // samples. A greater distance between samples doesn't lower it.
  std::uint64_t unusual_ns() const { return unusual_ns_.load(std::memory_order_relaxed); }

  // A call with more is a long one.
  void set_most_usual(double ns, double ns_per_tick) {
    most_usual_ns_.store(static_cast<std::uint64_t>(ns), std::memory_order_relaxed);
    most_usual_ticks_.store(static_cast<std::uint64_t>(ns / ns_per_tick), std::memory_order_relaxed);
  }
  static constexpr double kLeastUsualNs = 30'000;  // a sampled call takes 2,000 to 15,000

 private:
  // Of a call whose CPU time is unknown. The first calls, which read unwind tables, take less than this.
  static constexpr std::uint64_t kMostTicksOfCall = 3'000'000;

  // A thread that loses its processor inside a recorded call would count the time of others, milliseconds for a call of
  // 5 us. With more busy threads than processors, this happens to one call in fifty.
  TARE_COLD void add_long(std::uint64_t ticks, std::uint64_t cpu_begin_ns) {
    if (cpu_begin_ns == 0) {
      ticks_.fetch_add(ticks < kMostTicksOfCall ? ticks : kMostTicksOfCall, std::memory_order_relaxed);
      return;
    }
    const std::uint64_t ns = thread_cpu_ns() - cpu_begin_ns;
    const std::uint64_t usual = most_usual_ns_.load(std::memory_order_relaxed);
    long_ns_.fetch_add(ns, std::memory_order_relaxed);
    if (ns > usual) unusual_ns_.fetch_add(ns - usual, std::memory_order_relaxed);
  }

  std::atomic<bool> is_measured_{false};
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::uint64_t> long_ns_{0};
  std::atomic<std::uint64_t> unusual_ns_{0};
  std::atomic<std::uint64_t> most_usual_ns_{static_cast<std::uint64_t>(kLeastUsualNs)};
  std::atomic<std::uint64_t> most_usual_ticks_{90'000};  // until the rate of ticks is known
};

extern TARE_HIDDEN OwnCost own_cost;

// From its making to its end, without the time between pause() and go_on(), in which the allocator works.
class CostOfCall {
 public:
  explicit CostOfCall(bool is_counted = true) : is_counted_(is_counted && own_cost.is_measured()) {
    if (is_counted_) go_on();
  }
  ~CostOfCall() {
    if (is_counted_) own_cost.add(stamp() - begin_, cpu_begin_ns_);
  }
  CostOfCall(const CostOfCall&) = delete;
  CostOfCall& operator=(const CostOfCall&) = delete;
  void pause() {
    if (is_counted_) own_cost.add(stamp() - begin_, cpu_begin_ns_);
  }
  // The clock after the stamp, so that its cost counts, too.
  void go_on() {
    if (!is_counted_) return;
    begin_ = stamp();
    cpu_begin_ns_ = thread_cpu_ns();
  }

 private:
  bool is_counted_;
  std::uint64_t begin_ = 0;
  std::uint64_t cpu_begin_ns_ = 0;
};

}  // namespace tare::recorder
