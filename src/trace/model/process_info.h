// The facts of one recorded process image that aren't events: program, machine, settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/allocator_kind.h"
#include "trace/model/ids.h"
#include "trace/model/memory_reading.h"
#include "trace/model/sampling_rules.h"

namespace tare::trace {

struct ForkOrigin {  // set for an image made by fork without exec
  std::uint32_t parent_pid = 0;
  std::uint32_t parent_image = 0;
  std::uint32_t parent_thread = 0;  // ThreadId in the parent's trace
  std::uint64_t parent_thread_events = 0;
  std::uint64_t stamp = 0;
  std::string parent_trace;  // file name of the parent's trace beside this one; may be missing
};

// Stacks that end in one object's code because it has no unwind table there.
struct UnwindGapCount {
  RowId row{};  // the first such return address
  std::uint64_t stacks = 0;
};

// Events that lost detail to the ceiling of the dictionary (interner.h).
struct FoldedCounts {
  std::uint64_t cut_stacks = 0;      // with the outer frames of their stack
  std::uint64_t no_stacks = 0;       // with none
  std::uint64_t sizes = 0;           // with sizes rounded up, too ...
  std::uint64_t rounding_bytes = 0;  // ... by so much, all requests together

  bool operator==(const FoldedCounts&) const = default;
};

// How far a thread's events are in the segments before this one.
struct ThreadPosition {
  std::uint32_t thread = 0;
  std::uint64_t made_events = 0;
  std::uint64_t last_stamp = 0;

  bool operator==(const ThreadPosition&) const = default;
};

// The counters of a segmented recording before one of its segments.
struct SegmentSums {
  std::uint64_t duration_ns = 0;
  std::uint64_t alloc_events = 0;
  std::uint64_t free_events = 0;
  std::uint64_t realloc_events = 0;
  std::uint64_t map_events = 0;
  std::uint64_t total_blocks = 0;
  std::uint64_t total_requested_bytes = 0;
  std::uint64_t total_usable_bytes = 0;
  std::uint64_t total_gross_bytes = 0;
  std::uint64_t peak_gross_bytes = 0;  // the greatest so far ...
  std::uint64_t peak_ns = 0;           // ... and when
  std::uint64_t dropped_events = 0;

  bool operator==(const SegmentSums&) const = default;
};

// One of the files that a recording was cut into. It begins with the blocks that were live then: a LiveSet.
struct Segment {
  std::uint32_t number = 1;
  std::uint64_t stamp = 0;  // all earlier events are in the segments before; 0 for the first
  bool continued = false;   // there is a later one
  SegmentSums before;
  std::vector<ThreadPosition> positions;  // ascending; those not named begin with their first event
};

// The kernel killed the process for lack of memory: the counters that show it, and how sure that is.
struct MemoryKill {
  std::string group;  // the folder of the control group whose counter rose; empty: the machine's counter
  // The process's own group, and it ended by SIGKILL as far as the launcher could see.
  bool direct = false;
  std::uint64_t kills_before = 0;  // of the counter
  std::uint64_t kills_after = 0;
  std::uint64_t deaths = 1;       // recorded processes that may have been the victims
  std::uint64_t limit_bytes = 0;  // the lowest of its groups; 0: none, or unknown

  bool operator==(const MemoryKill&) const = default;
};

// yes, likely, no, unknown. The one rule for recordings and for watched processes. `deaths`: processes that ended while
// the counter rose by `kills`. The machine's counter names no victim.
constexpr std::string_view memory_kill_certainty(bool of_machine, bool direct, std::uint64_t kills,
                                                 std::uint64_t deaths) {
  if (kills == 0) return "no";
  if (of_machine) return "unknown";
  return direct && kills >= deaths ? "yes" : "likely";
}

inline std::string_view certainty_of(const MemoryKill& kill) {
  return memory_kill_certainty(kill.group.empty(), kill.direct, kill.kills_after - kill.kills_before, kill.deaths);
}

// The results of a budget (`--budget`): distances, limits and CPU times. The weights of blocks are in the events.
struct SamplingUse {
  std::uint32_t doublings = 0;  // of the distance between samples
  SamplingLimit stopped_by = SamplingLimit::None;
  std::uint64_t stopped_after_ns = 0;  // since the start
  // CPU time since the recording began: of the recorder and of the process, as far as measured.
  std::uint64_t recorder_cpu_ns = 0;
  std::uint64_t process_cpu_ns = 0;

  bool operator==(const SamplingUse&) const = default;
};

struct ProcessInfo {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint32_t image_index = 0;
  std::uint32_t page_bytes = 4096;
  AllocatorKind allocator = AllocatorKind::Unknown;
  std::string allocator_path;
  std::string exe;
  std::string cwd;
  std::vector<std::string> command_line;
  std::string title;  // that the program wrote over its command line, as it was at the exit; empty: none
  std::vector<std::string> environment;  // empty unless requested
  std::string kernel;
  std::string host;
  std::uint64_t start_realtime_ns = 0;
  std::uint64_t sample_bytes = 0;       // 0: every allocation recorded
  std::optional<SamplingUse> sampling;  // of a recording by samples with a budget
  bool free_stacks = false;
  bool contents_recorded = false;  // blocks were filled when allocated, and read when they ended
  // Set where the recorder slept at times, altogether so long: blocks born meanwhile aren't known, and of such known
  // only that they ended.
  std::optional<std::uint64_t> asleep_ns;
  bool malloc_bypassed = false;  // the program brought a malloc of its own: little or nothing could be recorded
  std::optional<ForkOrigin> fork;
  // Of a recording that was made from another profiler's file: its format, and the facts that it doesn't have, as words
  // with commas between. Empty: recorded by Tare.
  std::string imported_from;
  std::string missing_facts;
  std::optional<Segment> segment;  // none: the recording is one file
  // known when the recording ended; otherwise as far as seen
  bool ended_in_order = false;     // the recorder's destructor ran (false: killed, _exit, exec, or still running)
  bool replaced_by_exec = false;   // another program took the process over
  bool launcher_died = false;      // ... and the events after its chunks were full aren't recorded
  std::optional<int> wait_status;  // as waitpid gives it, where the launcher could see it
  std::optional<MemoryKill> memory_kill;  // none: no kill was counted, or the launcher didn't see the end
  std::uint64_t dropped_events = 0;
  std::uint64_t truncated_stacks = 0;
  std::uint64_t unwind_failures = 0;
  std::vector<UnwindGapCount> unwind_gaps;
  std::uint64_t nested_events = 0;
  std::uint32_t python = 0;  // a python_word(); 0: no interpreter was seen
  FoldedCounts folded;
  std::uint32_t moments = 0;             // snapshots taken
  std::uint64_t peak_rss_bytes = 0;      // VmHWM at the exit, or from rusage; 0: unknown
  std::uint64_t earlier_peak_bytes = 0;  // VmHWM when the recording of a running process began; 0: at its start
  std::uint64_t spool_bytes = 0;         // of the spool's file, all of them resident in the program; 0: not known
  std::optional<MemoryReading> reading;  // the one with the greatest RSS
};

// Stamps to nanoseconds since the start of the recording: piecewise linear through these pairs, ascending.
struct ClockPair {
  std::uint64_t stamp;
  std::uint64_t monotonic_ns;
};

}  // namespace tare::trace
