// Replays events while they are recorded. The summary needs no second pass over them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/fresh_tables.h"
#include "core/drain/online_merge.h"
#include "core/tables/replay.h"
#include "trace/base/result.h"
#include "trace/model/dictionary.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"

namespace tare::core {

class FusedReplay {
 public:
  // Both must outlive it.
  FusedReplay(const trace::Dictionary& dictionary, const trace::ProcessInfo& info)
      : replay_(dictionary, info, {}), merge_(replay_) {}

  // Before the first event.
  void inherit(const LiveSet& live) { replay_.inherit(live); }

  // See Replay.
  void expect_reading() { replay_.expect_reading(); }

  // The blocks of the snapshot at the exit, in recordings with contents.
  void add_exit_contents(std::vector<trace::Observation> blocks) { exit_contents_ = std::move(blocks); }

  OnlineMerge& merge() { return merge_; }
  const Replay& replay() const { return replay_; }
  Tables tables_so_far(std::span<const trace::ClockPair> clock_pairs) { return replay_.tables_so_far(clock_pairs); }

  // After the last event, when the trace at `path` is finished: puts the tables into its cache and into `fresh`.
  Status store(const std::string& path, std::span<const trace::ClockPair> clock_pairs, FreshTables& fresh);

 private:
  Replay replay_;
  OnlineMerge merge_;
  std::vector<trace::Observation> exit_contents_;
};

// The same from the file, where the events came in an order that couldn't be merged on the way.
Status replay_file_into_cache(const std::string& path, FreshTables& fresh);

}  // namespace tare::core
