// Starting or joining a program, the loop, and the end: see launch.h.
#include "core/collect/launch.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>

#include "core/collect/child_process.h"
#include "core/collect/memory_limit.h"
#include "core/collect/process_recorder.h"
#include "trace/spool_folder.h"

namespace tare::core {

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kShortestSleepNs = 20 * kMs;  // while waiting for processes whose end sends us no signal
constexpr std::uint64_t kLongestSleepNs = 1000 * kMs;
constexpr std::uint64_t kUnheardSleepNs = 2 * kMs;    // of 256 chunks a program that only allocates fills 10 meanwhile
constexpr std::uint64_t kPeakWatchSleepNs = 5 * kMs;  // a peak that stands so long isn't missed
constexpr std::uint64_t kLateStopSleepNs = 5 * kMs;   // a thread stands still meanwhile for nothing
constexpr std::uint64_t kLateReleaseNs = 2000 * kMs;
constexpr std::uint64_t kFlushPeriodNs = 5000 * kMs;  // open chunks of idle programs go into the file that often
constexpr std::uint64_t kProgressPeriodNs = 100 * kMs;
constexpr int kSpareDescriptors = 32;
constexpr std::size_t kMostEnded = 512;  // images of which more than sums is kept
constexpr std::size_t kMostWarnings = 1000;
constexpr std::uint64_t kLeastKeepingBytes = 2 << 20;  // with a smaller spool, programs would wait for chunks kept
constexpr std::size_t kMostNamed = 3;                  // programs in the line that says why they weren't recorded
constexpr std::uint64_t kStartGraceNs = 1000 * kMs;    // for an orphan to make its spool after the command ended

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Only files of our own making are moved or removed: -o may name a device.
bool is_plain_file(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Each living process costs three, and the usual soft limit of 1,024 is passed with 340. Called once the command is
// started, which keeps the limit it was given. Returns how many there may be.
int use_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

bool has_descriptor_left() {
  const int fd = ::open("/", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

// What a process's spool may take at most; 0: the recorder's default of 64 MiB. Under a control group's limit it is
// memory that the program lacks: a sixty-fourth of it, and no less than what a program fills while the launcher wakes.
std::uint64_t spool_bytes(std::uint64_t wanted) {
  constexpr std::uint64_t kLeast = 2 << 20;
  constexpr std::uint64_t kUsual = trace::kDefaultLaunchedChunks * trace::kChunkBytes;
  if (wanted != 0) return wanted;
  const std::optional<std::uint64_t> limit = memory_limit_bytes();
  if (!limit || *limit / 64 >= kUsual) return 0;
  return std::max(*limit / 64, kLeast);
}

// A look at a heap of 50 MiB makes and drops as much again. By default each piece goes back to the system and comes
// anew with the next look: page faults were a third of what a look costs.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that there may be
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace

Status Launch::start(const Executable& executable) {
  if (options_.moments == TakeMoments::PeaksAndExit) {
    directory_.control().exit_moments = 1;
    keep_freed_memory();
  }
  strangers_ = own_children();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Variables variables{{trace::kEnvSpoolDir, directory_.path()}};
  const auto number = [&](const char* name, std::uint64_t value) {
    variables.emplace_back(name, std::to_string(value));
  };
  if (const std::uint64_t bytes = spool_bytes(options_.spool_bytes); bytes != 0) {
    number(trace::kEnvSpoolBytes, bytes);
    keeps_chunks_ = bytes >= kLeastKeepingBytes;
  }
  if (options_.sample_bytes != 0) number(trace::kEnvSampleBytes, options_.sample_bytes);
  if (options_.sample_seed) number(trace::kEnvSampleSeed, *options_.sample_seed);
  if (options_.environment == RecordEnvironment::Yes) number(trace::kEnvRecordEnv, 1);
  if (options_.free_stacks == RecordFreeStacks::Yes) number(trace::kEnvFreeStacks, 1);
  if (options_.contents == RecordContents::Yes) number(trace::kEnvContents, 1);
  if (options_.asleep == StartAsleep::Yes) number(trace::kEnvStartPaused, 1);
  if (!options_.output.empty()) name_the_spool(options_.output, directory_.path() + "/");
  const Result<pid_t> pid =
      start_process(executable, options_.command, recorded_environment(options_.recorder_library, variables));
  if (!pid) {
    if (is_plain_file(options_.output)) ::unlink(options_.output.c_str());
    return pid.error();
  }
  watch_first(*pid, options_.command.front());
  signals_.forward_to(child_);
  if (options_.output.empty()) {
    name_the_spool(names_->current(child_),
                   directory_.path() + "/" + std::to_string(child_) + ".0" + trace::kSpoolSuffix);
  }
  return ok();
}

void Launch::watch_first(pid_t pid, const std::string& program) {
  child_ = pid;
  const int descriptors = use_all_descriptors();
  resting_from_ = descriptors / 2;
  most_watches_ = descriptors - kSpareDescriptors;
  processes_.emplace(child_, Process{.watch = ProcessWatch(child_, most_watches_), .retired = {}});
  names_.emplace(options_.output, program, child_);
  if (trace::is_container(names_->container())) ::unlink(names_->container().c_str());  // of an earlier recording
}

Status Launch::join(const AttachOptions& options) {
  joined_ = true;
  if (options_.moments == TakeMoments::PeaksAndExit) directory_.control().exit_moments = 1;
  strangers_ = own_children();
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
  WakingOptions waking{directory_.path(), options_.sample_bytes, 0};
  if (options_.free_stacks == RecordFreeStacks::Yes) waking.spool_flags |= trace::kSpoolFreeStacks;
  if (options_.contents == RecordContents::Yes) waking.spool_flags |= trace::kSpoolContents;
  watch_first(options.pid, options.program);
  signals_.child_is_gone();  // signals are for us
  if (options.for_ns != 0) let_go_ns_ = now_ns() + options.for_ns;
  return recorder->wake(waking);
}

ImageRecording* Launch::image_of(pid_t pid) {
  find_images();
  if (pid == 0) {
    ImageRecording* largest = nullptr;
    for (const auto& [number, process] : processes_) {
      const bool larger = largest == nullptr || (process.image != nullptr && process.image->calls() > largest->calls());
      if (larger) largest = process.image;
    }
    return largest;
  }
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second.image;
}

// A trace that says no more than where the command's spool will be: all there is if we are killed before we see it.
// `spool`: its path, or the folder where the only one made by our child is meant.
void Launch::name_the_spool(const std::string& trace_path, const std::string& spool) {
  trace::ProcessRecord record;
  record.info.parent_pid = static_cast<std::uint32_t>(::getpid());
  record.spool_path = spool;
  Result<trace::TraceWriter> writer = trace::TraceWriter::create(trace_path);
  if (!writer) return;  // the same error comes again, and is shown, when there's something to write
  writer->put_process(record);
  (void)writer->flush();
}

void Launch::rename_trace(ImageRecording& image, const std::string& name) {
  if (image.is_member()) return;
  if (!is_plain_file(image.trace_path())) return image.renamed(name);  // it's in memory
  if (::rename(image.trace_path().c_str(), name.c_str()) == 0) image.renamed(name);
}

// The process that made the spool. Its name holds a number, which is that of another process where the namespace is
// another, or where somebody else wrote the file: then the maker is who maps it. Nothing: gone, or never there.
std::optional<pid_t> Launch::maker_of(const LiveSpool& spool, pid_t named_pid) const {
  const bool same_namespace = spool.header().pid_namespace == pid_namespace_;
  if (same_namespace && spool.is_owned_by(named_pid)) return named_pid;
  const MappedFile file(spool.file().path());
  if (same_namespace && file.in(named_pid) != Mapped::No) return named_pid;
  // It may have become another program since, and another user before that. All that we record are our descendants.
  if (same_namespace && (named_pid == child_ || descends_from(named_pid, joined_ ? child_ : ::getpid())))
    return named_pid;
  const std::vector<pid_t> makers = file.processes();
  return makers.empty() ? std::nullopt : std::optional(makers.front());
}

std::uint32_t Launch::images_of(pid_t pid) const {
  const auto number = static_cast<std::size_t>(std::max(pid, 0));
  return number < images_of_.size() ? images_of_[number] : 0;
}

std::uint32_t Launch::count_image(pid_t pid) {
  const auto number = static_cast<std::size_t>(std::max(pid, 0));
  if (number == 0) return 0;
  if (number >= images_of_.size()) images_of_.resize(number + 1);
  return images_of_[number]++;
}

// The process of that number, which is about to have another image.
Launch::Process& Launch::enter(pid_t pid) {
  const auto [found, is_new] =
      processes_.try_emplace(pid, Process{.watch = ProcessWatch(pid, most_watches_), .retired = {}});
  Process& process = found->second;
  if (process.image != nullptr) {
    // The image before was replaced by exec: it gives its name to the one that runs now.
    rename_trace(*process.image, names_->replaced(pid, images_of(pid) - 1));
    close_image(process, {});
  } else if (is_new && images_of(pid) > 0) {  // the kernel gave the number of a dead process to a new one
    const std::string old_name = names_->current(pid);
    const std::string new_name = names_->replaced(pid, images_of(pid) - 1);
    for (const auto& image : images_) {
      if (image->trace_path() == old_name) rename_trace(*image, new_name);
    }
    if (is_plain_file(old_name)) ::rename(old_name.c_str(), new_name.c_str());  // of an image that was folded
  }
  return process;
}

void Launch::add_image(const std::string& name, std::uint32_t named_pid) {
  const auto starve = [&] {  // until other processes end; the spool stays
    seen_spools_.erase(name);
    starved_.insert(name);
  };
  Result<LiveSpool> spool = LiveSpool::open(directory_.path() + "/" + name);
  if (!spool) {
    if (!has_descriptor_left()) return starve();
    outcome_.warnings.push_back(spool.error().message);
    return;
  }
  const std::optional<pid_t> maker = maker_of(*spool, static_cast<pid_t>(named_pid));
  Process* process = nullptr;
  std::string trace_path;
  if (maker) {
    process = &enter(*maker);
    trace_path = names_->current(*maker);
  } else {
    const pid_t key = processes_.empty() ? -1 : std::min(processes_.begin()->first, 0) - 1;
    process = &processes_.emplace(key, Process{.watch = ProcessWatch::of_gone(), .retired = {}}).first->second;
    trace_path = names_->of_gone(named_pid, gone_[named_pid]++);
  }
  Result<std::unique_ptr<ImageRecording>> image =
      ImageRecording::create(std::move(*spool), maker.value_or(0), trace_path, options_.summarize, encoder_,
                             options_.moments, first_place(trace_path));
  if ((!image || (*image)->failure()) && !has_descriptor_left()) return starve();
  if (!image) {
    outcome_.warnings.push_back(image.error().message);
    return;
  }
  starved_.erase(name);
  (*image)->rest_descriptors(resting_from_);
  (*image)->record().info.image_index = count_image(maker.value_or(0));
  note_parent(**image);
  process->image = image->get();
  by_spool_[name] = process->image;
  images_.push_back(std::move(*image));
}

void Launch::find_images() {
  if (gave_up_) return;
  for (const std::string& name : directory_.spools()) {
    std::uint32_t pid, image;
    if (!trace::parse_spool_name(name, pid, image) || !seen_spools_.insert(name).second) continue;
    add_image(name, pid);
  }
}

std::string Launch::parent_trace_of(const trace::ForkOrigin& fork) const {
  // As the parent numbered itself; the latest, for other namespaces give the same numbers again.
  const std::string spool =
      std::to_string(fork.parent_pid) + "." + std::to_string(fork.parent_image) + trace::kSpoolSuffix;
  const auto image = by_spool_.find(spool);
  if (image == by_spool_.end()) return {};
  const std::string& path = image->second->trace_path();
  return path.substr(path.rfind('/') + 1);
}

void Launch::note_parent(ImageRecording& image) const {
  std::optional<trace::ForkOrigin>& fork = image.record().info.fork;
  if (!fork) return;
  if (std::string parent = parent_trace_of(*fork); !parent.empty()) fork->parent_trace = std::move(parent);
}

void Launch::close_image(Process& process, const ProcessEnd& end) {
  ImageRecording& image = *process.image;
  note_parent(image);
  image.finish(end.wait_status, end.peak_rss_bytes);
  put_into_container(image);
  process.image = nullptr;
  process.retired.push_back(image.spool_name());
  // The name stays taken while its process may make another spool.
  if (!process.watch.is_over()) directory_.retire(process.retired.back());
  image.summarize(outcome_, image.trace_path() == names_->current(child_) ? Importance::Command : Importance::Other);
}

// The command's own trace is the file that was asked for.
FirstPlace Launch::first_place(const std::string& trace_path) const {
  const bool may_be_member = !container_failed_ && !names_->member(trace_path).empty();
  return keeps_chunks_ && may_be_member ? FirstPlace::Memory : FirstPlace::File;
}

// Before its spool is given up. Where the container can't be written, the trace is a file of its own.
void Launch::put_into_container(ImageRecording& image) {
  const std::string name = names_->member(image.trace_path());
  if (name.empty()) return;
  const std::optional<std::vector<std::uint8_t>> trace = image.short_trace();
  if (!trace) return;
  if (!container_ && !container_failed_) {
    Result<trace::ContainerWriter> made = trace::ContainerWriter::create(names_->container(), directory_.path());
    if (made) container_.emplace(std::move(*made));
    container_failed_ = !made;
  }
  if (!container_failed_) {
    const Result<std::string> member = container_->append(name, *trace);
    if (member) return image.moved(container_->path() + ":" + *member);
    container_failed_ = true;
  }
  image.keep_own_file(*trace);
}

void Launch::take_due_moments(pid_t pid, ImageRecording& image) {
  const auto take = [&](trace::MomentKind kind, const std::string& name) {
    const Status taken = image.take_moment(kind, name, {options_.recorder_library, directory_.path()});
    if (!taken && refused_moments_.insert(pid).second) outcome_.warnings.push_back(taken.error().message);
  };
  if (image.asked_for_moment()) {
    take(image.asked_kind(), image.asked_name());
    image.answer_moment();
  } else if (image.peak_is_due()) {
    take(trace::MomentKind::Peak, {});
  }
}

void Launch::take_signalled_moments() {
  while (signalled_moments_ < signals_.snapshots_asked()) {
    ++signalled_moments_;
    ImageRecording* image = image_of(child_);
    if (image == nullptr) continue;
    const Status taken = image->take_moment(trace::MomentKind::Request, "signal-" + std::to_string(signalled_moments_),
                                            {options_.recorder_library, directory_.path()});
    if (!taken) outcome_.warnings.push_back(taken.error().message);
  }
}

bool Launch::drain(DrainDepth depth) {
  bool something = false;
  bool unheard = false;
  for (auto& [pid, process] : processes_) {
    if (process.image == nullptr) continue;
    unheard = unheard || process.image->unheard();
    const DrainCounts counts = process.image->drain(depth);
    take_due_moments(pid, *process.image);
    if (depth == DrainDepth::Everything) process.image->trim_spool();
    process.image->rest_descriptors(resting_from_);
    outcome_.drained_chunks += counts.chunks;
    something = something || counts.chunks > 0;
  }
  longest_sleep_ns_ = unheard ? kUnheardSleepNs : kLongestSleepNs;
  if (options_.moments == TakeMoments::PeaksAndExit) {
    longest_sleep_ns_ = std::min(longest_sleep_ns_, kPeakWatchSleepNs);
  }
  if (!FrozenProcess::release_late_stops()) longest_sleep_ns_ = std::min(longest_sleep_ns_, kLateStopSleepNs);
  return something;
}

// What is known of an image only when all have ended, or when it's folded.
void Launch::settle(ImageRecording& image) {
  if (image.info().fork && image.finished()) {
    const std::string parent = parent_trace_of(*image.info().fork);
    if (!parent.empty() && image.rename_parent(parent) && image.is_member()) {
      container_->set_parent(image.trace_path().substr(image.trace_path().rfind(':') + 1), parent);
    }
  }
  if (!outcome_.failure && image.failure()) outcome_.failure = image.failure();
  for (const std::string& warning : image.warnings()) warn(warning);
}

// Of a million processes a report names few: their traces are what counts.
void Launch::fold_old_images() {
  std::vector<ImageRecording*> ended;
  for (const auto& image : images_) {
    if (image->finished() && image->trace_path() != names_->current(child_)) ended.push_back(image.get());
  }
  if (ended.size() < 2 * kMostEnded) return;
  ended.resize(ended.size() - kMostEnded);
  for (ImageRecording* image : ended) {
    settle(*image);
    ++folded_.images;
    folded_.members += image->is_member();
    folded_.events += image->calls();
    folded_.file_bytes += image->file_bytes();
  }
  const std::set<ImageRecording*> folded(ended.begin(), ended.end());
  std::erase_if(by_spool_, [&](const auto& entry) { return folded.contains(entry.second); });
  std::erase_if(images_, [&](const auto& image) { return folded.contains(image.get()); });
}

void Launch::warn(const std::string& warning) {
  if (outcome_.warnings.size() < kMostWarnings) outcome_.warnings.push_back(warning);
}

// All that are over now, and not those that come meanwhile: where a shell starts programs faster than their recordings
// end, this had no end.
void Launch::look_after_processes() {
  std::vector<pid_t> over;
  for (auto& [pid, process] : processes_) {
    if (process.watch.over()) over.push_back(pid);
  }
  if (over.empty()) return;
  find_images();  // one may have become another image just before its end
  for (const pid_t pid : over) {
    Process& process = processes_.at(pid);
    if (pid == child_) {
      outcome_.wait_status = process.watch.end().wait_status.value_or(0);
      child_over_since_ns_ = now_ns();
      signals_.child_is_gone();
    }
    if (process.image != nullptr) close_image(process, process.watch.end());
    for (const std::string& name : process.retired) {
      directory_.forget(name);
      seen_spools_.erase(name);  // a new process may get the number
    }
    refused_moments_.erase(pid);
    processes_.erase(pid);
  }
  fold_old_images();
}

bool Launch::all_over() {
  if (joined_ && (signals_.stop_requested() || (let_go_ns_ != 0 && now_ns() >= let_go_ns_))) return true;
  if (child_over_since_ns_ == 0) return false;
  if (options_.wait_for == WaitFor::FirstProcess || signals_.stop_requested()) return true;
  if (!processes_.empty()) return false;
  // An orphan that hasn't made its spool yet is our child now: wait a little for it to do so, or to end.
  bool orphans = false;
  for (const pid_t pid : own_children()) {
    if (!strangers_.contains(pid) && ::waitpid(pid, nullptr, WNOHANG | __WALL) == 0) orphans = true;
  }
  return !orphans || now_ns() > child_over_since_ns_ + kStartGraceNs;
}

void Launch::report_progress() {
  if (!progress_ || now_ns() < next_progress_ns_) return;
  next_progress_ns_ = now_ns() + kProgressPeriodNs;
  LaunchProgress progress;
  progress.processes_recorded = static_cast<std::uint32_t>(folded_.images + images_.size());
  progress.processes_running = static_cast<std::uint32_t>(processes_.size());
  progress.events = folded_.events;
  progress.file_bytes = folded_.file_bytes;
  for (const auto& image : images_) {
    progress.events += image->calls();
    progress.file_bytes += image->file_bytes();
  }
  progress_(progress);
}

// A limit on the address space (ulimit -v) holds for this process as for the program. The program comes first: what is
// left is its end, and its status.
void Launch::run() {
  while (true) {
    try {
      return serve_until_all_is_over();
    } catch (const std::bad_alloc&) {
      give_up();
    }
  }
}

void Launch::give_up() {
  gave_up_ = true;
  for (auto& [pid, process] : processes_) process.image = nullptr;
  by_spool_.clear();
  images_.clear();
  starved_.clear();
  directory_.abandon_spools();
}

void Launch::serve_until_all_is_over() {
  trace::LauncherControl& control = directory_.control();
  std::uint64_t sleep_ns = kShortestSleepNs;
  next_flush_ns_ = now_ns() + kFlushPeriodNs;
  while (true) {
    const std::uint32_t seen = control.wake.load();
    find_images();
    DrainDepth depth = DrainDepth::Usual;
    if (now_ns() >= next_flush_ns_) {
      depth = DrainDepth::Everything;
      next_flush_ns_ = now_ns() + kFlushPeriodNs;
      directory_.take_notices(unrecorded_);
    }
    const bool progress = drain(depth);
    desk_.serve();
    take_signalled_moments();
    look_after_processes();
    report_progress();
    if (all_over()) {
      // Who ended just now may have made its spool after we looked.
      const std::size_t images_before = images_.size();
      find_images();
      if (images_.size() == images_before) break;
      continue;
    }
    if (progress) {
      sleep_ns = kShortestSleepNs;
      if (control.wake.load() != seen) continue;
    }
    // While the command runs, it or SIGCHLD wakes us; only other processes' sudden deaths don't.
    sleep_ns = std::min(sleep_ns, longest_sleep_ns_);
    if (let_go_ns_ != 0) sleep_ns = std::min(sleep_ns, std::max(let_go_ns_, now_ns() + kMs) - now_ns());
    wait_for_wake(control, seen, sleep_ns);
    ++outcome_.wakeups;
    sleep_ns = std::min(sleep_ns * 2, child_over_since_ns_ != 0 ? kShortestSleepNs : kLongestSleepNs);
  }
}

// First of the warnings: it says why a process that the user looks for isn't in the list.
void Launch::warn_of_unrecorded() {
  directory_.take_notices(unrecorded_);
  if (const std::uint32_t silent = directory_.control().unrecorded.load(); silent > 0) {
    unrecorded_["they can't reach " + directory_.path() + " any more (chroot?)"].processes += silent;
  }
  for (const std::string& name : starved_) {
    ++unrecorded_["tare had no file descriptor left; raise the hard limit on open files (ulimit -Hn)"].processes;
    directory_.forget(name);
  }
  std::vector<std::string> warnings;
  for (const auto& [reason, same] : unrecorded_) {
    std::string warning = std::to_string(same.processes) + (same.processes == 1 ? " process" : " processes") +
                          " could not be recorded: " + reason;
    std::size_t named = 0;
    for (const std::string& program : same.programs) {
      if (named < kMostNamed) warning += (named == 0 ? " (" : ", ") + program;
      ++named;
    }
    if (named > 0) warning += named > kMostNamed ? ", ...)" : ")";
    warnings.push_back(std::move(warning));
  }
  outcome_.warnings.insert(outcome_.warnings.begin(), warnings.begin(), warnings.end());
}

// It never allocated: nobody shall find our orders, for we aren't there any more.
void Launch::take_orders_back() {
  Result<FrozenProcess> frozen = FrozenProcess::freeze(child_);
  if (!frozen || frozen->thread_count() == 0) return;
  Result<ProcessRecorder> recorder = ProcessRecorder::find(*frozen);
  if (recorder) (void)recorder->take_back();
  find_images();  // it may have begun just before
}

// For who attached the recording ends here, as for others at the exit.
void Launch::take_last_look(pid_t pid, ImageRecording& image) {
  if (options_.moments != TakeMoments::PeaksAndExit) return;
  const Status taken = image.take_moment(trace::MomentKind::Exit, {}, {options_.recorder_library, directory_.path()});
  if (!taken && refused_moments_.insert(pid).second) outcome_.warnings.push_back(taken.error().message);
}

// The spool's file is deleted here. The process goes on having it mapped, for a thread that comes late; its chunks'
// memory, up to 64 MiB, is given back.
void Launch::let_go(pid_t pid, Process& process) {
  {
    Result<FrozenProcess> frozen = FrozenProcess::freeze(pid);
    if (frozen && frozen->thread_count() > 0) {
      Result<ProcessRecorder> recorder = ProcessRecorder::find(*frozen);
      Status detached = recorder ? recorder->detach() : Status(recorder.error());
      if (detached) detached = process.image->run_out_of_hooks(*frozen);
      if (!detached) outcome_.warnings.push_back(detached.error().message);
    } else if (!frozen) {
      outcome_.warnings.push_back(frozen.error().message);
    }
  }
  const int spool = ::open(process.image->spool_path().c_str(), O_RDWR | O_CLOEXEC);
  close_image(process, {});
  if (spool >= 0) {
    ::fallocate(spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(trace::kChunks),
                static_cast<off_t>(trace::kSpoolBytes - trace::kChunks));
    ::close(spool);
  }
  for (const std::string& name : process.retired) directory_.forget(name);
  // Nobody looks for them later; the kernel lets go whom we still hold when we end.
  for (const std::uint64_t end_ns = now_ns() + kLateReleaseNs;
       !FrozenProcess::release_late_stops() && now_ns() < end_ns;) {
    const timespec moment{0, static_cast<long>(kMs)};
    ::nanosleep(&moment, nullptr);
  }
}

LaunchOutcome Launch::finish() {
  if (gave_up_) {
    outcome_.failure =
        Error{ErrorKind::Io,
              "tare had no memory left, and the recording ended early; the program ran on. Raise the limit "
              "(ulimit -v), or record less with --sample"};
    return std::move(outcome_);
  }
  warn_of_unrecorded();
  if (joined_ && image_of(child_) == nullptr) take_orders_back();
  for (auto& [pid, process] : processes_) {
    if (process.image == nullptr) continue;
    if (joined_) {
      take_last_look(pid, *process.image);
      let_go(pid, process);
      continue;
    }
    process.image->leave_memory();
    process.image->drain(DrainDepth::Everything);
    directory_.leave_behind();
    outcome_.warnings.push_back("process " + std::to_string(pid) + " still runs; what it does from now on stays in " +
                                process.image->spool_path() + ", and is read with " + process.image->trace_path());
  }
  std::stable_sort(images_.begin(), images_.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const ImageRecording& image) {
      return image.trace_path() == names_->current(child_) ? 0 : 1;
    };
    return rank(*a) < rank(*b);
  });
  std::size_t unwritten = 0;
  for (const auto& image : images_) {
    settle(*image);
    if (image->failure() && image->file_bytes() == 0) {
      ++unwritten;
      continue;
    }
    try {
      image->summarize_from_file();
    } catch (const std::bad_alloc&) {  // a report makes the summary, or says why it can't
    }
    outcome_.images.push_back(
        {image->trace_path(), image->info(), image->calls(), image->file_bytes(), image->summarized()});
  }
  if (folded_.images > folded_.members) {
    warn(std::to_string(folded_.images - folded_.members) +
         " processes that ended earlier were recorded, too: " + std::to_string(folded_.events) + " events, " +
         std::to_string(folded_.file_bytes) + " bytes, beside " + names_->current(child_));
  }
  if (container_) {
    if (Status status = container_->finish(); !status && !outcome_.failure) outcome_.failure = status.error();
    outcome_.short_processes = {container_->path(), container_->members(), container_->file_bytes()};
  }
  if (unwritten > 1) {
    outcome_.warnings.push_back(std::to_string(unwritten) + " processes have no trace, because none could be written");
  }
  const std::string output = names_->current(child_);
  if (std::none_of(images_.begin(), images_.end(), [&](const auto& image) { return image->trace_path() == output; })) {
    if (is_plain_file(output)) ::unlink(output.c_str());  // the one that only names a spool
  }
  if (images_.empty() && joined_) {
    outcome_.warnings.push_back("nothing was recorded: the process allocated nothing meanwhile");
  } else if (images_.empty() && options_.asleep == StartAsleep::Yes) {
    outcome_.warnings.push_back("nothing was recorded: nobody woke the recorder (tare resume PID)");
  } else if (images_.empty() && !unrecorded_.empty()) {
    outcome_.warnings.push_back("nothing was recorded");  // why was said first
  } else if (images_.empty()) {
    outcome_.warnings.push_back(
        "nothing was recorded: the command ended before its first allocation, or it can't be preloaded");
  } else if (images_.front()->trace_path() != output) {
    outcome_.warnings.push_back("the command itself wasn't recorded, only processes that it started");
  }
  return std::move(outcome_);
}

}  // namespace tare::core
