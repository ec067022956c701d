// Starts a program under the recorder, drains the events of it and its descendants into traces, and waits for them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/drain/recording_outcome.h"
#include "core/drain/segments/segment_files.h"
#include "trace/base/result.h"

namespace tare::core {

enum class WaitFor : std::uint8_t {
  AllProcesses,  // every recorded descendant, daemons too
  FirstProcess,  // --no-wait: others keep running, and go on recording into their spools as standalone programs do
};
enum class RecordEnvironment : std::uint8_t { No, Yes };
enum class RecordFreeStacks : std::uint8_t { No, Yes };
enum class RecordContents : std::uint8_t { No, Yes };
enum class StartAsleep : std::uint8_t { No, Yes };  // processes record nothing until a request wakes them

// The budget of a recording by samples. 0: no such limit.
struct SamplingBudget {
  double cpu_share = 0;            // of each process's CPU time, for its recorder
  std::uint64_t memory_bytes = 0;  // of the recorder in each process
  std::uint64_t disk_bytes = 0;    // of all traces

  bool is_given() const { return cpu_share > 0 || memory_bytes != 0 || disk_bytes != 0; }
};

struct LaunchOptions {
  std::vector<std::string> command;  // [0] is searched in PATH as by execvp
  std::string output;                // F of the naming contract; empty: tare.PROGRAM.PID.tare in the working directory
  std::string recorder_library;      // absolute path of libtare-record.so
  WaitFor wait_for = WaitFor::AllProcesses;
  RecordEnvironment environment = RecordEnvironment::No;
  RecordFreeStacks free_stacks = RecordFreeStacks::No;
  RecordContents contents = RecordContents::No;
  StartAsleep asleep = StartAsleep::No;
  TakeSnapshots snapshots = TakeSnapshots::OnRequest;
  int snapshot_signal = 0;  // sent to the launcher: takes a snapshot of the command, and isn't forwarded; 0: none
  Summarize summarize = Summarize::WhileRecording;
  std::uint64_t sample_bytes = 0;  // 0: every allocation
  SamplingBudget budget;
  std::optional<std::uint64_t> sample_seed;
  SegmentLimits segments;             // of each trace
  std::string allocators;             // a trace::AllocatorTable for the recorders; empty: none
  std::function<bool()> interrupted;  // asked once signals are handled; true: SIGINT came earlier
  std::uint64_t spool_bytes = 0;      // memory-backed buffer a process may take; 0: kDefaultLaunchedChunks
};

struct LaunchProgress {
  std::uint32_t processes_recorded = 0;
  std::uint32_t processes_running = 0;
  std::uint64_t events = 0;
  std::uint64_t file_bytes = 0;
};
using ProgressCallback = std::function<void(const LaunchProgress&)>;  // at most some ten times a second

// An error means that the command wasn't started: CommandNotFound, CannotRecord, Usage, Io. SIGINT, SIGQUIT, SIGTERM
// and SIGHUP don't end the launcher while the command runs: the last two are forwarded to it, the first two reach it
// from the terminal anyway (a second SIGINT stops the waiting for other processes). Not reentrant: one launch() at a
// time a process.
Result<LaunchOutcome> launch(const LaunchOptions& options, const ProgressCallback& progress = {});

struct AttachOptions {
  pid_t pid = 0;
  std::string program;       // for the default name
  LaunchOptions launch;      // command, wait_for, asleep and environment mean nothing here
  std::uint64_t for_ns = 0;  // detaches after this time; 0: when the process ends, or at SIGINT, SIGTERM or SIGHUP
};

// Becomes the launcher of a process whose recorder has slept since its start without a launcher (TARE_START_PAUSED=1
// and the recorder's library preloaded), or from which another launcher detached. After it detaches, the process
// continues unrecorded, and can be attached to again. CannotRecord where there is no such recorder; else as launch().
Result<LaunchOutcome> attach(const AttachOptions& options, const ProgressCallback& progress = {});

// Does the checks that launch() does before it starts anything; gives the file that would be executed.
Result<std::string> check_recordable(const std::vector<std::string>& command);

}  // namespace tare::core
