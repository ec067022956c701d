// What was seen of blocks' contents, a row each: tables `moments` and `observations`, made on demand by a pass over the
// trace.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/replay/live_set.h"
#include "core/replay/tables.h"
#include "trace/dictionary.h"
#include "trace/event_sink.h"
#include "trace/process_info.h"

namespace tare::core {

// Block ids are those of table `blocks`. Memory is proportional to live blocks and to what was seen.
class Observations : public trace::EventSink {
 public:
  // The dictionary must be complete. `inherited` may be null.
  Observations(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, const LiveSet* inherited = nullptr);
  ~Observations() override;

  void consume(std::span<const trace::Event> events) override;
  // Once, after the last event.
  Tables finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
