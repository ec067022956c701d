// Tables `lifetimes` and `intervals`: blocks by the intervals of time of their allocation and of their free.
//
// They give the exact live blocks at the end of each interval, and the blocks that were allocated or freed between two
// such times. The peak is the end of an interval: of the events with its time, those after it are of the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/process_info.h"

namespace tare::core {

// Ends of the intervals, ascending: equal parts of the run, and the peak.
std::vector<std::uint64_t> interval_ends(std::uint64_t duration_ns, std::uint64_t peak_ns);

// Hundreds of events may share the peak's time.
struct PeakPlace {
  std::uint64_t ns = 0;           // process.peak_time_ns
  std::uint32_t allocations = 0;  // process.peak_after_allocations
};

// Memory: 8 bytes a live block and 24 bytes a row of `lives`.
class Lifetimes : public trace::EventSink {
 public:
  // The dictionary must be complete. `ends_ns` isn't empty and has at most 16,000 entries. `inherited` may be null.
  // Without `peak`, an interval that ends at the peak's time has all events of that time.
  Lifetimes(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
            std::span<const trace::ClockPair> clock_pairs, std::vector<std::uint64_t> ends_ns,
            const LiveSet* inherited = nullptr, std::optional<PeakPlace> peak = std::nullopt);
  ~Lifetimes() override;

  void consume(std::span<const trace::Event> events) override;

  // Returns `lives` and `intervals`. To be called once, after the last event.
  Tables finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
