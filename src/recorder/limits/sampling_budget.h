// The budget of a recording by samples (`tare run --sample --budget`): the recorder doubles the distance between
// samples, and stops sampling if a limit can't be kept.
//
// The launcher gives the limits in its control file. CPU time and memory are those of the recorder in this process. The
// launcher knows the size of all traces, and decides how often each process must double for the limit on disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/limits/budget.h"
#include "recorder/limits/own_use.h"
#include "recorder/spool/spool.h"
#include "trace/model/sampling_rules.h"

namespace tare::recorder {

class SamplingBudget {
 public:
  // With each spool of a recording by samples, before its first event. `control`: null if it has no launcher.
  // `is_child`: of a fork, whose distance and whose end of sampling are the parent's.
  void begin(const trace::LauncherControl* control, Spool& spool, bool is_child);
  // An event is about to be written. Any thread, also a signal handler.
  void note_event() {
    if (control_.load(std::memory_order_acquire) == nullptr) return;
    if (events_.fetch_add(1, std::memory_order_relaxed) % kEventsOfLook == kEventsOfLook - 1) look();
  }

 private:
  static constexpr std::uint32_t kEventsOfLook = 32;
  static constexpr std::uint32_t kLooksOfMemory = 8;

  void look();
  void keep_limits(const trace::LauncherControl& control);
  void widen(int times, trace::SamplingLimit limit);
  void widen_for_disk(const trace::LauncherControl& control);
  void keep_memory();
  void stop(trace::SamplingLimit limit);

  std::atomic<const trace::LauncherControl*> control_{nullptr};  // null: no limits
  Spool* spool_ = nullptr;
  std::atomic<std::uint32_t> events_{0};
  std::atomic<bool> is_looking_{false};
  std::uint32_t looks_ = 0;
  OwnUse own_use_;
  CpuLimit cpu_limit_;
  RoomLimit memory_limit_;
  trace::SamplingLimit stopped_by_ = trace::SamplingLimit::None;
  std::uint64_t stopped_at_ns_ = 0;
};

extern TARE_HIDDEN SamplingBudget sampling_budget;

}  // namespace tare::recorder
