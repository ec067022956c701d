// SPDX-License-Identifier: Apache-2.0
// The images of a recording and the processes that run them: found in the spool directory, numbered, named and closed.
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

#include "core/drain/image_recording.h"
#include "core/drain/output/short_traces.h"
#include "core/drain/output/trace_names.h"
#include "core/launcher/groups/kill_ledger.h"
#include "core/launcher/launcher.h"
#include "core/launcher/process_watch.h"
#include "core/launcher/spool_directory.h"
#include "core/process_memory/pid_numbers.h"
#include "trace/file/event_block.h"

namespace tare::core {

// Only files of our own making are moved or removed: -o may name a device.
bool is_plain_file(const std::string& path);

class ImageTable {
 public:
  struct Process {
    ProcessWatch watch;
    ImageRecording* image = nullptr;   // the one it runs; null when it's over
    std::vector<std::string> retired;  // names of its spools that are done with
  };
  // Images that ended long ago and aren't in images() any more.
  struct Folded {
    std::uint64_t images = 0;
    std::uint64_t members = 0;  // of the container
    std::uint64_t events = 0;
    std::uint64_t file_bytes = 0;
  };
  struct First {
    pid_t pid;                         // the command, or the process attached to
    pid_t ancestor;                    // of all that are recorded
    int descriptors;                   // that this process may have open
    std::uint64_t spool_bytes;         // that a process's spool takes at most; 0: the recorder's default
    std::uint64_t earlier_peak_bytes;  // of its RSS, before the recording; 0: it began with us
  };

  ImageTable(const LaunchOptions& options, SpoolDirectory& directory, LaunchOutcome& outcome, const TraceNames& names,
             const First& first);

  // Takes in the spools that appeared since the last call. False: there were none.
  bool find();
  // Of the process's control group: MemoryGroups::free_bytes().
  std::optional<std::uint64_t> free_bytes(pid_t pid) const { return kills_.free_bytes(pid); }
  // Looks for kills for lack of memory, at most ten times a second: while all processes live ...
  void look_for_kills();
  // ... and where these are over, before their images are closed.
  void judge_kills(const std::vector<pid_t>& over);
  // The process's image is over: takes the rest of its spool.
  void close(Process& process, const ProcessEnd& end);
  // The process is over, and its image is closed.
  void remove(pid_t pid);
  // Of a million processes, a report names few; their traces have the data.
  void fold_old();
  // Facts of an image that are known when all processes have ended, or when it's folded.
  void settle(ImageRecording& image);
  // Drops all images, without writing anything more.
  void end_early();
  // The container's directory, after all images are settled.
  void finish();
  // A warning of the recording; the first thousand are kept.
  void warn(const std::string& warning);
  // Closes those of the image's descriptors that others need.
  void rest_descriptors(ImageRecording& image) const { image.rest_descriptors(resting_from_); }

  std::map<pid_t, Process>& processes() { return processes_; }
  const std::map<pid_t, Process>& processes() const { return processes_; }
  // That live, and of the others the latest.
  std::vector<std::unique_ptr<ImageRecording>>& images() { return images_; }
  const Folded& folded() const { return folded_; }
  const std::set<std::string>& starved() const { return starved_; }
  bool is_commands(const ImageRecording& image) const { return image.trace_path() == names_.current(first_.pid); }

 private:
  bool add(const std::string& name, std::uint32_t named_pid);
  std::optional<pid_t> maker_of(const LiveSpool& spool, pid_t named_pid) const;
  std::uint32_t most_chunks(pid_t pid) const;
  Process& enter(pid_t pid);
  void rename_trace(ImageRecording& image, const std::string& name);
  // Of the processes that had the number.
  std::uint32_t images_of(pid_t pid) const;
  std::uint32_t count_image(pid_t pid);
  void note_parent(ImageRecording& image) const;
  bool parent_is_written(ImageRecording& child);
  std::string parent_trace_of(const trace::ForkOrigin& fork) const;

  const LaunchOptions& options_;
  SpoolDirectory& directory_;
  LaunchOutcome& outcome_;
  const TraceNames& names_;
  const First first_;
  const std::uint64_t pid_namespace_ = own_pid_namespace();
  ShortTraces short_traces_;
  KillLedger kills_;
  std::uint64_t next_look_ns_ = 0;
  trace::EventBlockEncoder encoder_;
  std::map<pid_t, Process> processes_;           // that live; negative: gone before their numbers were known
  std::vector<std::uint32_t> images_of_;         // by process number: at most 4 million, as the kernel has
  std::map<std::uint32_t, std::uint32_t> gone_;  // how many such, by the number in their names
  std::vector<std::unique_ptr<ImageRecording>> images_;
  Folded folded_;
  std::unordered_map<std::string, ImageRecording*> by_spool_;  // of images_, the latest of that name
  std::set<std::string> seen_spools_;
  std::set<std::string> starved_;  // spools that there was no descriptor for
  // Files with this number or a higher one are closed between reads and writes: half of the numbers are for processes,
  // the other half for other purposes.
  int resting_from_ = 0;
  int most_watches_ = 0;
};

}  // namespace tare::core
