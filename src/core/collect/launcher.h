// Starts a program under the recorder, drains what it and its descendants record into traces, and waits for them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/process_info.h"
#include "trace/result.h"

namespace tare::core {

enum class WaitFor : std::uint8_t {
  AllProcesses,  // every recorded descendant, daemons too
  FirstProcess,  // --no-wait: others keep running, and go on recording into their spools as standalone programs do
};
enum class RecordEnvironment : std::uint8_t { No, Yes };
enum class RecordFreeStacks : std::uint8_t { No, Yes };
enum class RecordContents : std::uint8_t { No, Yes };
enum class StartAsleep : std::uint8_t { No, Yes };  // processes record nothing until a request wakes them
enum class Summarize : std::uint8_t {
  WhileRecording,  // replay runs on the events as they are drained; tables are in the cache when launch() returns
  No,              // only the traces
};

enum class TakeMoments : std::uint8_t {
  OnRequest,     // a program stands still only where somebody asks for it
  PeaksAndExit,  // at candidates for the peak, and before the program exits; see moment_schedule.h
};

struct LaunchOptions {
  std::vector<std::string> command;  // [0] is looked up in PATH as execvp does
  std::string output;                // F of the naming contract; empty: tare.PROGRAM.PID.tare in the working directory
  std::string recorder_library;      // absolute path of libtare-record.so
  WaitFor wait_for = WaitFor::AllProcesses;
  RecordEnvironment environment = RecordEnvironment::No;
  RecordFreeStacks free_stacks = RecordFreeStacks::No;
  RecordContents contents = RecordContents::No;
  StartAsleep asleep = StartAsleep::No;
  TakeMoments moments = TakeMoments::OnRequest;
  int snapshot_signal =
      0;  // sent to the launcher: a look into the command's blocks, instead of being handed on; 0: none
  Summarize summarize = Summarize::WhileRecording;
  std::uint64_t sample_bytes = 0;  // 0: every allocation
  std::optional<std::uint64_t> sample_seed;
  std::uint64_t spool_bytes = 0;  // memory-backed buffer a process may take; 0: kDefaultLaunchedChunks
};

// One trace that was written. Ordered: the first process's last image first, then as they appeared.
struct RecordedImage {
  std::string path;  // of the .tare file
  trace::ProcessInfo info;
  std::uint64_t events = 0;
  std::uint64_t file_bytes = 0;
  bool summary_cached = false;  // the tables of the default report lie in the cache of `path`
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
  // how the work went; printed by --verbose, checked by tests and benches
  std::uint64_t wakeups = 0;
  std::uint64_t drained_chunks = 0;
  std::uint64_t late_events = 0;  // arrived after the merge had passed them: that image's summary was recomputed
  std::uint64_t recomputed_summaries = 0;
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
  std::uint64_t for_ns = 0;  // let go after so long; 0: when the process ends, or a SIGINT, SIGTERM or SIGHUP comes
};

// Becomes the launcher of a process whose recorder sleeps since it began, without a launcher (TARE_START_PAUSED=1 and
// the recorder's library preloaded), or was let go by another. When it lets go, the process goes on unrecorded, and may
// be attached to again. CannotRecord where there is no such recorder; else as launch().
Result<LaunchOutcome> attach(const AttachOptions& options, const ProgressCallback& progress = {});

// Does the checks that launch() does before it starts anything; gives the file that would be executed.
Result<std::string> check_recordable(const std::vector<std::string>& command);

}  // namespace tare::core
