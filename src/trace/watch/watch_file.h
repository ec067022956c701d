// Reads a watch file, of a process that runs or of a dead one, believing nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/result.h"
#include "trace/model/dictionary.h"
#include "trace/model/process_info.h"
#include "trace/watch/watch_layout.h"

namespace tare::trace {

// A copy of the file's contents. If the process runs and its events left no pause for a copy, the copy may be of two
// moments: samples that were being written are left out.
struct WatchedProcess {
  ProcessInfo info;  // sample_bytes: the present distance
  std::uint64_t process_start_ticks = 0;
  std::string boot_id;
  std::uint64_t first_sample_bytes = 0;
  WatchTotals totals{};
  WatchBudget budget{};
  ClockPair start{};
  bool stamps_are_ns = false;
  bool has_ended = false;            // in order, or replaced by another program
  std::vector<WatchNode> nodes;      // parents come before their children
  std::vector<WatchSum> sums;        // of valid nodes
  std::vector<WatchSample> samples;  // valid ones, by age
  Dictionary tables;                 // modules, rows and given frames only

  double live_bytes() const;  // usable
  double live_blocks() const;
  double live_bytes_error() const;  // one standard error
  std::uint64_t inherited() const;  // samples
  std::uint64_t updated_ns() const { return totals.realtime_ns; }
};

// NotATrace, NewerVersion, Corrupt or Io. Without `with_tables`, `tables`, `nodes` and `sums` stay empty.
enum class WatchParts : std::uint8_t { Facts, All };
Result<WatchedProcess> read_watch_file(const std::string& path, WatchParts parts = WatchParts::All);

// "" for None.
std::string stop_reason(std::uint32_t stop);

}  // namespace tare::trace
