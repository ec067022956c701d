// Options of a recording besides its traces, and its results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/columns/fresh_tables.h"
#include "trace/base/result.h"
#include "trace/model/process_info.h"

namespace tare::core {

enum class Summarize : std::uint8_t {
  WhileRecording,  // replay runs on the events as they are drained; tables are in the cache when launch() returns
  No,              // only the traces
};

enum class TakeSnapshots : std::uint8_t {
  OnRequest,         // a program is stopped only on request
  PeaksAndExit,      // at candidates for the peak, and before the program exits; see snapshot_schedule.h
  NearPeaksAndExit,  // the same, with more time for them in a short run
};

// One trace that was written. Ordered: the first process's last image first, then as they appeared.
struct RecordedImage {
  std::string path;  // of the .tare file
  trace::ProcessInfo info;
  std::uint64_t events = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t earlier_segments = 0;  // files beside `path` with the recording's earlier segments
  bool summary_cached = false;         // the tables of the default report lie in the cache of `path`
};

// The container of a recording.
struct ShortProcesses {
  std::string path;  // empty: there is none
  std::uint64_t traces = 0;
  std::uint64_t file_bytes = 0;
};

struct LaunchOutcome {
  int wait_status = 0;                // of the command, as waitpid gives it
  std::vector<RecordedImage> images;  // the latest; empty: nothing was recorded (see warnings)
  ShortProcesses short_processes;
  std::vector<std::string> warnings;  // one line each
  std::optional<Error> failure;       // the recording went wrong on the way (disk full ...); the command ran on
  FreshTables fresh_tables;           // for a reader in this process
  // how the work went; printed by --verbose, checked by tests and benches
  std::uint64_t wakeups = 0;
  std::uint64_t drained_chunks = 0;
  std::uint64_t late_events = 0;  // arrived after the merge had passed them: that image's summary was recomputed
  std::uint64_t recomputed_summaries = 0;
};

}  // namespace tare::core
