// Table `blocks`: one row a block, made on demand by a pass over the trace, and handed out in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "trace/base/result.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/process_info.h"

namespace tare::core {

// Gets tables named `blocks`, all with the same columns. An error ends the pass.
using BlockSink = std::function<Status(Table batch)>;

// Blocks come out as they end, those that never do come last. Columns: block_id (by birth), size_id, thread,
// allocated_ns, freed_ns, alloc_stack_id, free_stack_id, requested_bytes, usable_bytes, align_bytes, api, grown_from (a
// block_id), weight, inherited, address. Memory is proportional to the blocks that are live at once.
class BlockStream : public trace::EventSink {
 public:
  static constexpr std::size_t kBatchRows = 1 << 16;  // 7 MB

  // The dictionary must be complete. `inherited` may be null; its ids are those that Replay's tables give them.
  BlockStream(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
              std::span<const trace::ClockPair> clock_pairs, BlockSink sink, const LiveSet* inherited = nullptr);
  ~BlockStream() override;

  void consume(std::span<const trace::Event> events) override;
  // Once, after the last event: passes on the blocks that are still live. The sink's first error, if it had one.
  Status finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
