// Table `thread_sizes`: the blocks of each shape by the thread that allocated them, over the run, at the peak, at the
// end and at one more time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/process_info.h"

namespace tare::core {

// Memory: 8 bytes a live block, 24 a shape, and 8 a row for each time.
class ThreadSizes : public trace::EventSink {
 public:
  struct Times {
    std::uint64_t peak_ns = 0;           // process.peak_time_ns: of several states at that time, the largest counts
    std::optional<std::uint64_t> at_ns;  // since the start; events of that time are before it
  };

  // The dictionary must be complete. `inherited` may be null.
  ThreadSizes(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
              std::span<const trace::ClockPair> clock_pairs, const Times& times, const LiveSet* inherited = nullptr);
  ~ThreadSizes() override;

  void consume(std::span<const trace::Event> events) override;

  // Once, after the last event.
  Table finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
