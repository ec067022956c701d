// Starting or joining a program, the loop, and the end: see launch.h.
#include "core/launcher/launch.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/launcher/child_process.h"
#include "core/launcher/groups/memory_limit.h"
#include "core/launcher/process_recorder.h"
#include "core/snapshot/memory_reading.h"
#include "trace/base/clock_ns.h"
#include "trace/spool/allocator_table.h"
#include "trace/spool/spool_folder.h"

namespace tare::core {

namespace {

constexpr std::uint64_t kMs = 1'000'000;
// While waiting for processes whose end sends no signal to the launcher.
constexpr std::uint64_t kShortestSleepNs = 20 * kMs;
constexpr std::uint64_t kLongestSleepNs = 1000 * kMs;
constexpr std::uint64_t kUnheardSleepNs = 2 * kMs;    // of 256 chunks a program that only allocates fills 10 meanwhile
constexpr std::uint64_t kPeakWatchSleepNs = 5 * kMs;  // a peak that stands so long isn't missed
constexpr std::uint64_t kLateStopSleepNs = 5 * kMs;   // a thread stands still meanwhile for nothing
constexpr std::uint64_t kFlushPeriodNs = 5000 * kMs;  // open chunks of idle programs go into the file that often
// A program that reaches its peak and then waits keeps up to 8,000 events in its open chunk: 5 of a Python's 15 MiB.
constexpr std::uint64_t kPeakFlushPeriodNs = 250 * kMs;
constexpr std::uint64_t kProgressPeriodNs = 100 * kMs;
constexpr std::uint64_t kStartGraceNs = 1000 * kMs;  // for an orphan to make its spool after the command ended

// Each living process costs three, and the usual soft limit of 1,024 is passed with 340. Called once the command is
// started, which keeps the limit it was given. Returns how many there may be.
int use_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

// A snapshot of a heap of 50 MiB allocates and frees as much. By default each piece is released to the kernel and
// mapped again by the next snapshot: page faults were a third of a snapshot's cost. Under a memory limit, freed memory
// that is kept is the program's loss, and by default more of it is kept after each large block: beside a program of
// 211 MiB, the launcher had 86 MiB in the first way, 72 by default, and 67 with a fixed threshold.
void choose_kept_memory() {
  constexpr std::uint64_t kMostKept = 256 << 20;
  const std::optional<std::uint64_t> limit = memory_limit_bytes();
  if (limit && *limit / 16 < kMostKept) {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  } else {
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that there may be
    ::mallopt(M_TRIM_THRESHOLD, kMostKept);
  }
}

}  // namespace

Status Launch::start(const Executable& executable) {
  if (options_.snapshots != TakeSnapshots::OnRequest) {
    directory_.control().exit_moments = 1;
    choose_kept_memory();
  }
  if (!options_.allocators.empty() && !directory_.put_allocators(options_.allocators)) {
    allocators_failure_ =
        std::string("programs' own allocators aren't recorded: their descriptions can't be written into ") +
        directory_.path() + ": " + std::strerror(errno);
  }
  give_budget();
  strangers_ = own_children();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Variables variables{{trace::kEnvSpoolDir, directory_.path()}};
  const auto number = [&](const char* name, std::uint64_t value) {
    variables.emplace_back(name, std::to_string(value));
  };
  const std::uint64_t most_spool_bytes = spool_bytes_within_limit(options_.spool_bytes);
  if (most_spool_bytes != 0) number(trace::kEnvSpoolBytes, most_spool_bytes);
  if (options_.sample_bytes != 0) number(trace::kEnvSampleBytes, options_.sample_bytes);
  if (options_.sample_seed) number(trace::kEnvSampleSeed, *options_.sample_seed);
  if (options_.environment == RecordEnvironment::Yes) number(trace::kEnvRecordEnv, 1);
  if (options_.free_stacks == RecordFreeStacks::Yes) number(trace::kEnvFreeStacks, 1);
  if (options_.contents == RecordContents::Yes) number(trace::kEnvContents, 1);
  if (options_.asleep == StartAsleep::Yes) number(trace::kEnvStartPaused, 1);
  if (!options_.output.empty()) write_spool_path(options_.output, directory_.path() + "/");
  const Result<pid_t> pid =
      start_process(executable, options_.command, recorded_environment(options_.recorder_library, variables));
  if (!pid) {
    if (is_plain_file(options_.output)) ::unlink(options_.output.c_str());
    return pid.error();
  }
  watch_first(*pid, ::getpid(), options_.command.front(), most_spool_bytes);
  signals_.forward_to(child_);
  if (options_.output.empty()) {
    write_spool_path(names_->current(child_),
                     directory_.path() + "/" + std::to_string(child_) + ".0" + trace::kSpoolSuffix);
  }
  return ok();
}

// Before a recorder looks.
void Launch::give_budget() {
  trace::LauncherControl& control = directory_.control();
  control.cpu_share = options_.budget.cpu_share;
  control.memory_bytes = options_.budget.memory_bytes;
  control.has_budget = options_.budget.is_given() ? 1 : 0;
  if (disk_budget_.is_given()) control.wake_chunks = 1;  // up to 8,000 events, which take a part of the room
}

void Launch::keep_disk_budget() {
  if (!disk_budget_.is_given()) return;
  std::uint64_t bytes = images_->folded().file_bytes;
  std::uint64_t events = images_->folded().events;
  std::uint64_t waiting = 0;
  for (const auto& image : images_->images()) {
    bytes += image->file_bytes();
    events += image->calls();
    waiting += image->waiting_events();
  }
  disk_budget_.look(bytes, events, waiting);
  directory_.control().doublings = disk_budget_.doublings();
  directory_.control().disk_is_full = disk_budget_.is_full() ? 1 : 0;
}

void Launch::watch_first(pid_t pid, pid_t ancestor, const std::string& program, std::uint64_t most_spool_bytes) {
  child_ = pid;
  names_.emplace(options_.output, program, child_);
  images_.emplace(options_, directory_, outcome_, *names_,
                  ImageTable::First{pid, ancestor, use_all_descriptors(), most_spool_bytes, earlier_peak_bytes_});
}

Status Launch::join(const AttachOptions& options) {
  joined_ = true;
  directory_.control().wake_processes = 1;  // a user waits for this one
  if (options_.snapshots != TakeSnapshots::OnRequest) directory_.control().exit_moments = 1;
  give_budget();
  strangers_ = own_children();
  earlier_peak_bytes_ = peak_resident_bytes_of(options.pid);  // without the recorder
  if (Status led = lead_to_recorder(options.pid, options_.recorder_library); !led) return led;
  Result<FrozenProcess> process = FrozenProcess::freeze(options.pid);
  if (!process) return process.error();
  Result<ProcessRecorder> recorder = ProcessRecorder::find(*process);
  if (!recorder) return recorder.error();
  const std::string who = "process " + std::to_string(options.pid);
  if (recorder->is_waited_for()) {
    return Error{ErrorKind::CannotRecord, who + " is being attached to by another `tare attach`, which waits for its " +
                                              "next allocation; end that one first"};
  }
  if (recorder->state() == trace::RecorderState::Recording && !recorder->is_let_go()) {
    return Error{ErrorKind::CannotRecord, who + " is recorded already, without a launcher: its trace is the spool in " +
                                              "its working directory"};
  }
  if (recorder->state() != trace::RecorderState::Asleep && recorder->state() != trace::RecorderState::Recording) {
    return Error{ErrorKind::CannotRecord, who + " has a recorder that isn't asleep: it couldn't start"};
  }
  facts_.recorder_library = recorder->library();
  WakingOptions waking{directory_.path_in_program(), options_.sample_bytes, 0};
  if (options_.free_stacks == RecordFreeStacks::Yes) waking.spool_flags |= trace::kSpoolFreeStacks;
  if (options_.contents == RecordContents::Yes) waking.spool_flags |= trace::kSpoolContents;
  watch_first(options.pid, options.pid, options.program, spool_bytes_within_limit(options_.spool_bytes));
  signals_.child_is_gone();  // signals are for us
  if (options.for_ns != 0) detached_ns_ = trace::monotonic_ns() + options.for_ns;
  return recorder->wake(waking);
}

ImageRecording* Launch::image_of(pid_t pid) {
  find_images();
  const std::map<pid_t, ImageTable::Process>& processes = images_->processes();
  if (pid == 0) {
    ImageRecording* largest = nullptr;
    for (const auto& [number, process] : processes) {
      const bool larger = largest == nullptr || (process.image != nullptr && process.image->calls() > largest->calls());
      if (larger) largest = process.image;
    }
    return largest;
  }
  const auto found = processes.find(pid);
  return found == processes.end() ? nullptr : found->second.image;
}

// A trace that contains only the future path of the command's spool: it is all that is left if the launcher is killed
// before it finds the spool. `spool`: its path, or the folder where the only one made by our child is meant.
void Launch::write_spool_path(const std::string& trace_path, const std::string& spool) {
  trace::ProcessRecord record;
  record.info.parent_pid = static_cast<std::uint32_t>(::getpid());
  record.spool_path = spool;
  Result<trace::TraceWriter> writer = trace::TraceWriter::create(trace_path);
  if (!writer) return;  // the same error comes again, and is shown, when there's something to write
  writer->put_process(record);
  (void)writer->flush();
}

bool Launch::find_images() { return !ended_early_ && images_->find(); }

void Launch::take_due_snapshots(pid_t pid, ImageRecording& image) {
  const auto take = [&](trace::MomentKind kind, const std::string& name) {
    const Status taken = image.take_snapshot(kind, name, facts_);
    if (!taken && refused_snapshots_.insert(pid).second) images_->warn(taken.error().message);
  };
  if (image.snapshot_requested()) {
    take(image.requested_kind(), image.requested_name());
    image.acknowledge_snapshot();
  } else if (image.peak_is_due()) {
    take(trace::MomentKind::Peak, {});
  }
}

void Launch::take_signalled_snapshots() {
  while (signalled_snapshots_ < signals_.snapshots_asked()) {
    ++signalled_snapshots_;
    ImageRecording* image = image_of(child_);
    if (image == nullptr) continue;
    const Status taken =
        image->take_snapshot(trace::MomentKind::Request, "signal-" + std::to_string(signalled_snapshots_), facts_);
    if (!taken) images_->warn(taken.error().message);
  }
}

bool Launch::drain(DrainDepth depth) {
  bool something = false;
  bool unheard = false;
  std::uint64_t next_look_ns = ~std::uint64_t{0};
  const bool trims = depth == DrainDepth::Everything && trace::monotonic_ns() >= next_trim_ns_;
  const RoomOfProcess free_bytes = [this](pid_t pid) { return images_->free_bytes(pid); };
  if (trims) next_trim_ns_ = trace::monotonic_ns() + kFlushPeriodNs;
  for (auto& [pid, process] : images_->processes()) {
    if (process.image == nullptr) continue;
    unheard = unheard || process.image->unheard();
    const DrainCounts counts = process.image->drain(depth);
    take_due_snapshots(pid, *process.image);
    next_look_ns = std::min(next_look_ns, process.image->watch_memory(facts_, reading_budget_, free_bytes));
    if (trims) process.image->trim_spool();
    images_->rest_descriptors(*process.image);
    outcome_.drained_chunks += counts.chunks;
    something = something || counts.chunks > 0;
  }
  keep_disk_budget();
  longest_sleep_ns_ = unheard ? kUnheardSleepNs : kLongestSleepNs;
  if (options_.snapshots != TakeSnapshots::OnRequest) {
    longest_sleep_ns_ = std::min(longest_sleep_ns_, kPeakWatchSleepNs);
  }
  const std::uint64_t now_ns = trace::monotonic_ns();
  longest_sleep_ns_ = std::min(longest_sleep_ns_, std::max(next_look_ns, now_ns + kMs) - now_ns);
  if (!FrozenProcess::release_late_stops()) longest_sleep_ns_ = std::min(longest_sleep_ns_, kLateStopSleepNs);
  return something;
}

// All that are over now, and not those that come meanwhile: where a shell starts programs faster than their recordings
// end, this had no end.
bool Launch::check_processes() {
  std::vector<pid_t> over;
  for (auto& [pid, process] : images_->processes()) {
    if (process.watch.over()) over.push_back(pid);
  }
  if (over.empty()) {
    images_->look_for_kills();
    return false;
  }
  find_images();  // one may have become another image just before its end
  images_->judge_kills(over);
  for (const pid_t pid : over) {
    ImageTable::Process& process = images_->processes().at(pid);
    if (pid == child_) {
      outcome_.wait_status = process.watch.end().wait_status.value_or(0);
      child_over_since_ns_ = trace::monotonic_ns();
      signals_.child_is_gone();
    }
    if (process.image != nullptr) images_->close(process, process.watch.end());
    refused_snapshots_.erase(pid);
    images_->remove(pid);
  }
  images_->fold_old();
  return true;
}

// Programs that an attached process executes don't have its recorder. So the recording is over.
void Launch::end_replaced() {
  std::vector<pid_t> replaced;
  for (const auto& [pid, process] : images_->processes()) {
    if (process.image != nullptr && process.image->was_replaced()) replaced.push_back(pid);
  }
  if (replaced.empty()) return;
  find_images();  // a prepared program makes a spool of its own
  for (const pid_t pid : replaced) {
    ImageTable::Process& process = images_->processes().at(pid);
    if (process.image == nullptr || !process.image->was_replaced()) continue;
    images_->close(process, {});
    images_->remove(pid);
    if (pid != child_) continue;
    child_over_since_ns_ = trace::monotonic_ns();
    directory_.forget_notices_of(pid);  // "started without LD_PRELOAD"
    std::error_code ignored;
    const std::string number = std::to_string(pid);
    const std::string program = std::filesystem::read_symlink("/proc/" + number + "/exe", ignored).filename();
    images_->warn("process " + number + " executed another program, " + program +
                  ", and its recording ended there; tare attach " + number + " records that program");
  }
}

bool Launch::all_processes_ended() {
  if (joined_ && (signals_.stop_requested() || (detached_ns_ != 0 && trace::monotonic_ns() >= detached_ns_)))
    return true;
  if (child_over_since_ns_ == 0) return false;
  if (options_.wait_for == WaitFor::FirstProcess || signals_.stop_requested()) return true;
  if (!images_->processes().empty()) return false;
  // An orphan that hasn't made its spool yet is our child now: wait a little for it to do so, or to end.
  bool orphans = false;
  for (const pid_t pid : own_children()) {
    if (!strangers_.contains(pid) && ::waitpid(pid, nullptr, WNOHANG | __WALL) == 0) orphans = true;
  }
  return !orphans || trace::monotonic_ns() > child_over_since_ns_ + kStartGraceNs;
}

void Launch::report_progress() {
  if (!progress_ || trace::monotonic_ns() < next_progress_ns_) return;
  next_progress_ns_ = trace::monotonic_ns() + kProgressPeriodNs;
  LaunchProgress progress;
  progress.processes_recorded = static_cast<std::uint32_t>(images_->folded().images + images_->images().size());
  progress.processes_running = static_cast<std::uint32_t>(images_->processes().size());
  progress.events = images_->folded().events;
  progress.file_bytes = images_->folded().file_bytes;
  for (const auto& image : images_->images()) {
    progress.events += image->calls();
    progress.file_bytes += image->file_bytes();
  }
  progress_(progress);
}

// A limit on the address space (ulimit -v) holds for this process as for the program. The program comes first: its end
// and its exit status must still be handled.
void Launch::run() {
  while (true) {
    try {
      return serve_until_processes_end();
    } catch (const std::bad_alloc&) {
      end_early();
    }
  }
}

void Launch::end_early() {
  ended_early_ = true;
  images_->end_early();
  directory_.abandon_spools();
}

void Launch::serve_until_processes_end() {
  trace::LauncherControl& control = directory_.control();
  std::uint64_t sleep_ns = kShortestSleepNs;
  const std::uint64_t flush_period_ns =
      options_.snapshots != TakeSnapshots::OnRequest ? kPeakFlushPeriodNs : kFlushPeriodNs;
  next_flush_ns_ = trace::monotonic_ns() + flush_period_ns;
  next_trim_ns_ = trace::monotonic_ns() + kFlushPeriodNs;
  while (true) {
    const std::uint32_t seen = control.wake.load();
    const bool found = find_images();
    if (joined_) end_replaced();  // before notices are taken
    DrainDepth depth = DrainDepth::Usual;
    if (trace::monotonic_ns() >= next_flush_ns_) {
      depth = DrainDepth::Everything;
      next_flush_ns_ = trace::monotonic_ns() + flush_period_ns;
      directory_.take_notices(unrecorded_);
    }
    const bool progress = drain(depth);
    desk_.serve();
    take_signalled_snapshots();
    const bool ended = check_processes();
    report_progress();
    if (all_processes_ended()) {
      // A process that has just ended may have made its spool after the search.
      if (!find_images()) break;
      continue;
    }
    if (progress || found || ended) sleep_ns = kShortestSleepNs;
    if (progress && control.wake.load() != seen) continue;
    // While the command runs, it or SIGCHLD wakes us; a few other processes that begin or end don't.
    sleep_ns = std::min(sleep_ns, longest_sleep_ns_);
    if (detached_ns_ != 0)
      sleep_ns = std::min(sleep_ns, std::max(detached_ns_, trace::monotonic_ns() + kMs) - trace::monotonic_ns());
    wait_for_wake(control, seen, sleep_ns);
    ++outcome_.wakeups;
    sleep_ns = std::min(sleep_ns * 2, child_over_since_ns_ != 0 ? kShortestSleepNs : kLongestSleepNs);
  }
}

}  // namespace tare::core
