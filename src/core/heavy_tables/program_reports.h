// The program's own reports through tare/reporter.h as tables, made on demand by a pass over the trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/process_info.h"

namespace tare::core {

// When table `claimed` is of. Nothing: the end.
struct ClaimedTime {
  std::optional<std::uint64_t> at_ns;    // since the start
  std::optional<std::uint64_t> reports;  // after so many of them: a time isn't exact enough to stand between two events
};

// Tables reports, amounts, sharing, pools, pool_memory, pool_blocks, and claimed: the live blocks at one time by their
// reports. Memory is proportional to live blocks and to the number of reports. Block ids are those of table `blocks`.
class ProgramReports : public trace::EventSink {
 public:
  // The dictionary must be complete. `inherited` may be null.
  ProgramReports(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                 std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited = nullptr,
                 const ClaimedTime& moment = {});
  ~ProgramReports() override;

  void consume(std::span<const trace::Event> events) override;
  // Once, after the last event.
  Tables finish();
  // One line for each contradiction in the reports. After finish().
  const std::vector<std::string>& warnings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
