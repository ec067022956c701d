// Table `thread_sizes`: the blocks of each shape by the thread that allocated them, over the run, at the peak, at the
// end and at one more time.
#pragma once

#include <vector>

#include "core/analysis/replay_engine.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/process_info.h"

namespace tare::core {

// After finish() of an engine that counted threads. `stack_of`: as for site_sizes_table. Without rows if the engine met
// more pairs of shape and thread than it can count.
Table thread_sizes_table(const ReplayEngine& engine, const trace::Dictionary& dictionary,
                         const trace::ProcessInfo& info, const std::vector<trace::StackId>& stack_of);

}  // namespace tare::core
