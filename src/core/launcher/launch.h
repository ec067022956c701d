// One recording while it goes on: its processes, their images, and the loop that drains them. See launcher.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/drain/image_recording.h"
#include "core/drain/output/trace_names.h"
#include "core/launcher/disk_budget.h"
#include "core/launcher/executable_check.h"
#include "core/launcher/image_table.h"
#include "core/launcher/launch_signals.h"
#include "core/launcher/launcher.h"
#include "core/launcher/request_desk.h"
#include "core/launcher/spool_directory.h"

namespace tare::core {

class Launch {
 public:
  Launch(const LaunchOptions& options, const ProgressCallback& progress, SpoolDirectory directory)
      : options_(options),
        progress_(progress),
        directory_(std::move(directory)),
        signals_(directory_.control(), options.snapshot_signal),
        facts_{options.recorder_library, directory_.path_in_program()},
        desk_(directory_, facts_, [this](pid_t pid) { return image_of(pid); }),
        disk_budget_(options.budget.disk_bytes) {
    if (options.interrupted && options.interrupted()) signals_.take_earlier_interrupt();
  }

  Status start(const Executable& executable);
  // In place of start(): a process that runs already.
  Status join(const AttachOptions& options);
  // Never throws, once the program is started: where this process's memory is at an end the recording ends early.
  void run();
  LaunchOutcome finish();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  void watch_first(pid_t pid, pid_t ancestor, const std::string& program, std::uint64_t most_spool_bytes);
  ImageRecording* image_of(pid_t pid);
  void take_signalled_snapshots();
  void withdraw_requests();
  void take_final_snapshot(pid_t pid, ImageRecording& image);
  void detach_process(pid_t pid, ImageTable::Process& process);
  void write_spool_path(const std::string& trace_path, const std::string& spool);
  bool find_images();  // false: there were no new ones
  bool drain(DrainDepth depth);
  void take_due_snapshots(pid_t pid, ImageRecording& image);
  void give_budget();
  void keep_disk_budget();
  bool check_processes();  // true: some are over
  void end_replaced();
  bool all_processes_ended();
  void report_progress();
  void warn_about_unrecorded();
  void serve_until_processes_end();
  void end_early();

  const LaunchOptions& options_;
  const ProgressCallback& progress_;
  SpoolDirectory directory_;
  LaunchSignals signals_;
  SnapshotFacts facts_;
  RequestDesk desk_;
  bool joined_ = false;                   // the process was there before us
  std::uint64_t earlier_peak_bytes_ = 0;  // of its RSS then
  bool ended_early_ = false;
  std::uint64_t detached_ns_ = 0;  // then; 0: not by the clock
  std::uint32_t signalled_snapshots_ = 0;
  ReadingBudget reading_budget_;
  DiskBudget disk_budget_;
  std::optional<TraceNames> names_;
  pid_t child_ = 0;
  LaunchOutcome outcome_;
  std::optional<ImageTable> images_;  // from watch_first() on
  std::uint64_t next_flush_ns_ = 0;
  std::uint64_t next_trim_ns_ = 0;
  std::string allocators_failure_;  // why recorders have no descriptions of foreign allocators
  std::uint64_t next_progress_ns_ = 0;
  std::uint64_t child_over_since_ns_ = 0;
  std::set<pid_t> strangers_;  // children that this process had before
  UnrecordedByReason unrecorded_;
  std::set<pid_t> refused_snapshots_;   // warned once for each process
  std::uint64_t longest_sleep_ns_ = 0;  // set by drain()
};

}  // namespace tare::core
