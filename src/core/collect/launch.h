// One recording while it goes on: its processes, their images, and the loop that drains them. See launcher.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/collect/executable_check.h"
#include "core/collect/image_recording.h"
#include "core/collect/launch_signals.h"
#include "core/collect/launcher.h"
#include "core/collect/process_watch.h"
#include "core/collect/request_desk.h"
#include "core/collect/spool_directory.h"
#include "core/collect/trace_names.h"
#include "core/observe/pid_numbers.h"
#include "trace/container.h"
#include "trace/event_block.h"

namespace tare::core {

class Launch {
 public:
  Launch(const LaunchOptions& options, const ProgressCallback& progress, SpoolDirectory directory)
      : options_(options),
        progress_(progress),
        directory_(std::move(directory)),
        signals_(directory_.control(), options.snapshot_signal),
        desk_(directory_, {options.recorder_library, directory_.path()}, [this](pid_t pid) { return image_of(pid); }) {}

  Status start(const Executable& executable);
  // In place of start(): a process that runs already.
  Status join(const AttachOptions& options);
  // Never throws, once the program is started: where this process's memory is at an end the recording ends early.
  void run();
  LaunchOutcome finish();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  struct Process {
    ProcessWatch watch;
    ImageRecording* image = nullptr;   // the one it runs; null when it's over
    std::vector<std::string> retired;  // names of its spools that are done with
  };
  // Images that ended long ago and aren't in images_ any more.
  struct Folded {
    std::uint64_t images = 0;
    std::uint64_t members = 0;  // of the container
    std::uint64_t events = 0;
    std::uint64_t file_bytes = 0;
  };

  void watch_first(pid_t pid, const std::string& program);
  ImageRecording* image_of(pid_t pid);
  void take_signalled_moments();
  void take_orders_back();
  void take_last_look(pid_t pid, ImageRecording& image);
  void let_go(pid_t pid, Process& process);
  void name_the_spool(const std::string& trace_path, const std::string& spool);
  void find_images();
  void add_image(const std::string& name, std::uint32_t named_pid);
  std::optional<pid_t> maker_of(const LiveSpool& spool, pid_t named_pid) const;
  Process& enter(pid_t pid);
  void rename_trace(ImageRecording& image, const std::string& name);
  void close_image(Process& process, const ProcessEnd& end);
  // Of the processes that had the number.
  std::uint32_t images_of(pid_t pid) const;
  std::uint32_t count_image(pid_t pid);
  void note_parent(ImageRecording& image) const;
  void fold_old_images();
  void settle(ImageRecording& image);
  void warn(const std::string& warning);
  FirstPlace first_place(const std::string& trace_path) const;
  void put_into_container(ImageRecording& image);
  bool drain(DrainDepth depth);
  void take_due_moments(pid_t pid, ImageRecording& image);
  void look_after_processes();
  bool all_over();
  void report_progress();
  std::string parent_trace_of(const trace::ForkOrigin& fork) const;
  void warn_of_unrecorded();
  void serve_until_all_is_over();
  void give_up();

  const LaunchOptions& options_;
  const ProgressCallback& progress_;
  SpoolDirectory directory_;
  LaunchSignals signals_;
  RequestDesk desk_;
  bool joined_ = false;  // the process was there before us
  bool gave_up_ = false;
  std::uint64_t let_go_ns_ = 0;  // then; 0: not by the clock
  std::uint32_t signalled_moments_ = 0;
  trace::EventBlockEncoder encoder_;
  std::optional<TraceNames> names_;
  pid_t child_ = 0;
  std::map<pid_t, Process> processes_;           // that live; negative: gone before their numbers were known
  std::vector<std::uint32_t> images_of_;         // by process number: at most 4 million, as the kernel has
  std::map<std::uint32_t, std::uint32_t> gone_;  // how many such, by the number in their names
  const std::uint64_t pid_namespace_ = own_pid_namespace();
  std::vector<std::unique_ptr<ImageRecording>> images_;  // that live, and of the others the latest
  Folded folded_;
  std::unordered_map<std::string, ImageRecording*> by_spool_;  // of images_, the latest of that name
  bool keeps_chunks_ = true;                                   // as long as an image's trace is in memory
  std::optional<trace::ContainerWriter> container_;            // made for the first member
  bool container_failed_ = false;
  std::set<std::string> seen_spools_;
  LaunchOutcome outcome_;
  std::uint64_t next_flush_ns_ = 0;
  std::uint64_t next_progress_ns_ = 0;
  std::uint64_t child_over_since_ns_ = 0;
  std::set<pid_t> strangers_;  // children that this process had before
  UnrecordedByReason unrecorded_;
  std::set<pid_t> refused_moments_;  // said once a process
  std::set<std::string> starved_;    // spools that there was no descriptor for
  // Files numbered from here on are closed between reads and writes: half of the numbers are for processes, and they
  // leave some for whatever else is to be done.
  int resting_from_ = 0;
  int most_watches_ = 0;
  std::uint64_t longest_sleep_ns_ = 0;  // set by drain()
};

}  // namespace tare::core
