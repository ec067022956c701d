// The replay's results as the public tables.
#pragma once

#include <span>

#include "core/analysis/replay_engine.h"
#include "core/columns/tables.h"
#include "trace/model/process_info.h"

namespace tare::core {

// `engine` has finished.
Tables make_tables(const ReplayEngine& engine, const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                   std::span<const trace::ClockPair> clock_pairs);

// Tables `stacks`, `rows`, `modules`, `given_frames` of a dictionary, and `unwind_gaps`: where stacks end because
// unwind tables are missing.
Table stacks_table(const trace::Dictionary& dictionary);
Table rows_table(const trace::Dictionary& dictionary);
Table modules_table(const trace::Dictionary& dictionary);
Table given_frames_table(const trace::Dictionary& dictionary);
Table unwind_gaps_table(const trace::Dictionary& dictionary, std::span<const trace::UnwindGapCount> gaps);

const char* name_of(trace::AllocatorKind allocator);

}  // namespace tare::core
