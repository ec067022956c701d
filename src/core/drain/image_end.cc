// The end of an image's recording: its last records, the parent's name, and the tables of its summary.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/drain/generated_code/jitdump.h"
#include "core/drain/generated_code/perf_map.h"
#include "core/drain/image_recording.h"
#include "core/process_memory/mapped_file.h"

namespace tare::core {

using namespace trace;

namespace {

// Reads the perf map; if there is none, a jitdump. `process`: its number here while it lives, else 0.
void read_generated_names(const ProcessInfo& info, std::int64_t process, std::uint32_t owner, GeneratedNames& names,
                          std::vector<std::string>& warnings) {
  const std::string map = "/tmp/perf-" + std::to_string(info.pid) + ".map";
  const char* const home = std::getenv("HOME");
  const std::vector<std::string> dumps = jitdump_paths(info.pid, info.cwd, home == nullptr ? "" : home);
  // While the process lives, its own root directory has its files.
  std::vector<std::string> roots{""};
  if (process != 0) roots.insert(roots.begin(), "/proc/" + std::to_string(process) + "/root");
  const auto is_used = [&](PerfMapUse use, const std::string& path) {
    if (use == PerfMapUse::TooLarge) {
      warnings.push_back(path + " is larger than " + std::to_string(kMaxPerfMapBytes >> 20) +
                         " MiB: generated code stays unnamed");
    }
    return use == PerfMapUse::Used || use == PerfMapUse::TooLarge;
  };
  for (const std::string& root : roots) {
    if (is_used(read_perf_map(root + map, owner, info.start_realtime_ns, names), map)) return;
  }
  for (const std::string& root : roots) {
    for (const std::string& path : dumps) {
      if (is_used(read_jitdump(root + path, info.pid, owner, info.start_realtime_ns, names), path)) return;
    }
  }
}

}  // namespace

void ImageRecording::finish(std::optional<int> wait_status, std::uint64_t peak_rss_bytes) {
  gaps_are_final_ = true;
  while (drain(DrainDepth::Everything).chunks > 0) {
  }
  if (!failure_ && segments_.cut.wanted()) {
    for (ThreadStream& stream : streams_->all()) pack_until(stream, OnlineMerge::kEnded);
  }
  ProcessInfo& info = record_.info;
  if (put_counters()) {
    wakes_up();
    if (info.asleep_ns) info.asleep_ns = spool_->header().asleep_ns.load();
  }
  if (record_.info.malloc_bypassed) {
    warnings_.add(record_.info.exe +
                  " has a malloc of its own, which the recorder can't see: the trace holds little; " +
                  "build it against the system's allocator, or against a dynamic one");
  }
  record_.info.wait_status = wait_status;
  const std::uint64_t noted = std::uint64_t{spool_->header().peak_rss_kib.load(std::memory_order_relaxed)} * 1024;
  record_.info.peak_rss_bytes = noted != 0 && (peak_rss_bytes == 0 || noted < peak_rss_bytes) ? noted : peak_rss_bytes;
  record_.info.spool_bytes = spool_->file().allocated_bytes();
  record_.thread_count = static_cast<std::uint32_t>(streams_->all().size());
  record_.spool_events = 0;
  for (const ThreadStream& stream : streams_->all()) record_.spool_events += stream.packer.decode.spool_events;
  if (record_.info.segment) {
    for (const ThreadPosition& at : record_.info.segment->positions) record_.spool_events -= at.made_events;
  }
  std::uint64_t end_offset = 0;
  if (!failure_) {
    write_snapshots();
    clock_pairs_.add({stamp_now(), monotonic_ns()});
    put_last_names();
    output_.append().put_clock(clock_pairs_.take_unwritten());
    write_out();
    end_offset = output_.file_bytes();
    output_.append().put_end(record_);
    write_out();
  }
  // A shell script makes images by the hundred: none keeps more than its facts.
  output_.finish(end_offset);
  summary_.forget_early();
  streams_.reset();
  spool_.reset();
}

bool ImageRecording::ends_in_order() const {
  return !spool_ || (spool_->header().flags.load(std::memory_order_acquire) & (kSpoolEnded | kSpoolReplaced)) != 0;
}

bool ImageRecording::was_replaced() const {
  if (!spool_ || process_ == 0 || (spool_->header().flags.load(std::memory_order_acquire) & kSpoolReplaced) == 0)
    return false;
  return MappedFile(spool_path()).in(process_) == Mapped::No;
}

// JIT compilers keep the lines of their maps in buffers until the process exits, so that names are read at the end
// only.
void ImageRecording::put_last_names() {
  GeneratedNames names(dictionary_);
  if (!names.empty()) {
    read_generated_names(record_.info, process_, spool_->owner(), names, warnings_.all());
    names.add_to(dictionary_);
  }
  output_.append().put_growth(dictionary_);
  std::vector<GivenFrame>& given = dictionary_.given_frames;
  if (!std::ranges::is_sorted(given, {}, &GivenFrame::row)) std::ranges::stable_sort(given, {}, &GivenFrame::row);
}

bool ImageRecording::rename_parent(const std::string& parent_trace) {
  if (failure_ || !record_.info.fork || record_.info.fork->parent_trace == parent_trace) return false;
  record_.info.fork->parent_trace = parent_trace;
  if (is_member()) return true;
  if (const Status status = output_.replace_end(record_); !status) fail(status.error());
  return true;
}

void ImageRecording::summarize(LaunchOutcome& outcome, Importance importance) {
  const bool has_file = !failure_ && !is_member();
  summary_.store({trace_path(), has_file, clock_pairs_.all(), calls_, importance}, outcome);
  dictionary_ = {};
}

}  // namespace tare::core
