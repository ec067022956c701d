// Table `observations`: facts about blocks at their free and in snapshots, a row each. It is made on demand by a pass
// over the trace, which finds the block at an address at that time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"
#include "trace/open/open_trace.h"

namespace tare::core {

// Block ids are those of table `blocks`. Memory is proportional to live blocks and to the number of rows.
class BlockHistory : public trace::EventSink {
 public:
  // The dictionary must be complete. `inherited` may be null. `moments` as the trace has them: the first is moment 1.
  BlockHistory(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
               std::span<const trace::ClockPair> clock_pairs = {}, std::vector<trace::Moment> moments = {},
               const LiveSet* inherited = nullptr);
  ~BlockHistory() override;

  void consume(std::span<const trace::Event> events) override;
  // Once, after the last event.
  Tables finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
