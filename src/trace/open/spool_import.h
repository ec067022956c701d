// Turns the events in a spool that a trace doesn't have into event blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/base/result.h"
#include "trace/file/event_block.h"
#include "trace/model/dictionary.h"
#include "trace/model/process_info.h"
#include "trace/spool/spool_file.h"

namespace tare::trace {

struct ImportedBlock {
  BlockHeader header;
  std::vector<std::uint8_t> payload;
};

// The position in each thread's events up to which the trace has them: earlier events of the spool are skipped.
struct ThreadProgress {
  std::uint64_t spool_events = 0;
  std::uint64_t last_stamp = 0;
};

struct SpoolImport {
  std::vector<ImportedBlock> blocks;   // each thread's in order
  std::vector<ClockPair> clock_pairs;  // ascending
  std::vector<std::string> warnings;
  SpoolCounts counts;
};

// `dictionary`: the trace's (or empty); new entries are appended. Damaged chunks are left out with a warning; Io or
// Corrupt only where nothing can be read.
Result<SpoolImport> import_spool(const SpoolFile& spool, const std::map<std::uint32_t, ThreadProgress>& known,
                                 Dictionary& dictionary);

}  // namespace tare::trace
