// Events of a young process, kept until it turns out to be long enough for a replay.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/drain/online_merge.h"
#include "trace/model/event.h"

namespace tare::core {

class EarlyEvents {
 public:
  void wait() { waits_ = true; }
  bool waits() const { return waits_; }
  bool stop_waiting() { return std::exchange(waits_, false); }

  void add(std::uint32_t thread, std::span<const trace::Event> events) {
    batches_.push_back({thread, {events.begin(), events.end()}});
  }
  void append_to(OnlineMerge& merge) const {
    for (const Batch& batch : batches_) merge.append(batch.thread, batch.events);
  }
  void clear() { std::vector<Batch>().swap(batches_); }

 private:
  struct Batch {
    std::uint32_t thread;
    std::vector<trace::Event> events;
  };
  bool waits_ = false;
  std::vector<Batch> batches_;
};

}  // namespace tare::core
