// SPDX-License-Identifier: Apache-2.0
// Finding, naming and closing images: see image_table.h.
#include "core/launcher/image_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/launcher/disk_budget.h"
#include "core/launcher/groups/memory_limit.h"
#include "trace/base/clock_ns.h"
#include "trace/spool/spool_folder.h"
#include "trace/spool/spool_layout.h"

namespace tare::core {

namespace {

constexpr int kSpareDescriptors = 32;
constexpr std::size_t kMostEnded = 512;  // images of which more than sums is kept
constexpr std::size_t kMostWarnings = 1000;
constexpr std::uint64_t kLookPeriodNs = 100'000'000;
constexpr std::uint64_t kFewSpoolBytes = 256 << 10;  // not worth two system calls

bool has_descriptor_left() {
  const int fd = ::open("/", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

// A child that was forked goes on reading its parent's tables, never its chunks.
void release_chunks(const std::string& spool_path) {
  const int spool = ::open(spool_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (spool < 0) return;
  ::fallocate(spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(trace::kChunks),
              static_cast<off_t>(trace::kSpoolBytes - trace::kChunks));
  ::close(spool);
}

}  // namespace

bool is_plain_file(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

ImageTable::ImageTable(const LaunchOptions& options, SpoolDirectory& directory, LaunchOutcome& outcome,
                       const TraceNames& names, const First& first)
    : options_(options),
      directory_(directory),
      outcome_(outcome),
      names_(names),
      first_(first),
      short_traces_(directory.path(), names, first.spool_bytes),
      kills_(MemoryGroups(), first.pid),
      resting_from_(first.descriptors / 2),
      most_watches_(first.descriptors - kSpareDescriptors) {
  processes_.emplace(first.pid, Process{.watch = ProcessWatch(first.pid, most_watches_), .retired = {}});
  if (trace::is_container(names.container())) ::unlink(names.container().c_str());  // of an earlier recording
  remove_old_segments(names.current(first.pid));
}

void ImageTable::rename_trace(ImageRecording& image, const std::string& name) {
  if (image.is_member()) return;
  if (image.in_memory() || !is_plain_file(image.trace_path())) return image.renamed(name);
  if (::rename(image.trace_path().c_str(), name.c_str()) == 0) image.renamed(name);
}

// The process that made the spool. Its name contains a number. In another pid namespace, or if another process wrote
// the file, that number belongs to another process: then the process that maps the file is used. Nothing: gone, or
// never there.
std::optional<pid_t> ImageTable::maker_of(const LiveSpool& spool, pid_t named_pid) const {
  const bool same_namespace = spool.header().pid_namespace == pid_namespace_;
  if (spool.is_copy() && spool.file().pid() == static_cast<std::uint32_t>(named_pid)) return named_pid;  // it's gone
  if (same_namespace && spool.is_owned_by(named_pid)) return named_pid;
  const MappedFile file(spool.file().path());
  if (same_namespace && file.in(named_pid) != Mapped::No) return named_pid;
  // The process may have changed its user and executed another program since. Only descendants are recorded.
  if (same_namespace && (named_pid == first_.pid || descends_from(named_pid, first_.ancestor))) return named_pid;
  const std::vector<pid_t> makers = file.processes();
  return makers.empty() ? std::nullopt : std::optional(makers.front());
}

std::uint32_t ImageTable::images_of(pid_t pid) const {
  const auto number = static_cast<std::size_t>(std::max(pid, 0));
  return number < images_of_.size() ? images_of_[number] : 0;
}

std::uint32_t ImageTable::count_image(pid_t pid) {
  const auto number = static_cast<std::size_t>(std::max(pid, 0));
  if (number == 0) return 0;
  if (number >= images_of_.size()) images_of_.resize(number + 1);
  return images_of_[number]++;
}

// The process of that number, which is about to have another image.
ImageTable::Process& ImageTable::enter(pid_t pid) {
  const auto [found, is_new] =
      processes_.try_emplace(pid, Process{.watch = ProcessWatch(pid, most_watches_), .retired = {}});
  Process& process = found->second;
  if (process.image != nullptr) {
    // The image before was replaced by exec: it gives its name to the one that runs now.
    rename_trace(*process.image, names_.replaced(pid, images_of(pid) - 1));
    close(process, {});
  } else if (is_new && images_of(pid) > 0) {  // the kernel gave the number of a dead process to a new one
    const std::string old_name = names_.current(pid);
    const std::string new_name = names_.replaced(pid, images_of(pid) - 1);
    for (const auto& image : images_) {
      if (image->trace_path() == old_name) rename_trace(*image, new_name);
    }
    if (is_plain_file(old_name)) ::rename(old_name.c_str(), new_name.c_str());  // of an image that was folded
  }
  return process;
}

// Of its spool: pages of tmpfs are charged to the group of the process that touches them first.
std::uint32_t ImageTable::most_chunks(pid_t pid) const {
  const std::uint64_t bytes_in_group = options_.spool_bytes != 0 ? 0 : spool_bytes_under(kills_.limit_bytes(pid));
  std::uint64_t most = trace::kMaxChunks;
  for (const std::uint64_t bytes : {bytes_in_group, first_.spool_bytes}) {
    if (bytes != 0) most = std::min(most, std::max<std::uint64_t>(bytes / trace::kChunkBytes, 1));
  }
  return static_cast<std::uint32_t>(most);
}

bool ImageTable::add(const std::string& name, std::uint32_t named_pid) {
  const auto starve = [&] {  // until other processes end; the spool stays
    seen_spools_.erase(name);
    starved_.insert(name);
    return false;
  };
  // A trace names its spool by a path that is right for other processes, too.
  Result<LiveSpool> spool = LiveSpool::open(directory_.path_for_others() + "/" + name);
  if (!spool && directory_.path_for_others() != directory_.path())
    spool = LiveSpool::open(directory_.path() + "/" + name);
  if (!spool) {
    if (!has_descriptor_left()) return starve();
    warn(spool.error().message);
    return false;
  }
  const std::optional<pid_t> maker = maker_of(*spool, static_cast<pid_t>(named_pid));
  Process* process = nullptr;
  std::string trace_path;
  if (maker) {
    process = &enter(*maker);
    kills_.enter(*maker);
    if (!spool->is_copy()) spool->header().most_chunks.store(most_chunks(*maker), std::memory_order_relaxed);
    trace_path = names_.current(*maker);
  } else {
    const pid_t key = processes_.empty() ? -1 : std::min(processes_.begin()->first, 0) - 1;
    process = &processes_.emplace(key, Process{.watch = ProcessWatch::of_gone(), .retired = {}}).first->second;
    trace_path = names_.of_gone(named_pid, gone_[named_pid]++);
  }
  Result<std::unique_ptr<ImageRecording>> image =
      ImageRecording::create(std::move(*spool), maker.value_or(0), trace_path, options_.summarize, encoder_,
                             options_.snapshots, short_traces_.first_place(trace_path), options_.segments);
  if ((!image || (*image)->failure()) && !has_descriptor_left()) return starve();
  if (!image) {
    warn(image.error().message);
    return false;
  }
  starved_.erase(name);
  (*image)->rest_descriptors(resting_from_);
  if (const std::uint64_t most = options_.budget.disk_bytes; most != 0) {
    (*image)->set_block_events(DiskBudget(most).block_events());
  }
  if (options_.segments.wanted()) {
    (*image)->set_parent_writer([this](ImageRecording& child) { return parent_is_written(child); });
  }
  trace::ProcessInfo& info = (*image)->record().info;
  info.image_index = count_image(maker.value_or(0));
  if (maker == first_.pid && info.image_index == 0) info.earlier_peak_bytes = first_.earlier_peak_bytes;
  note_parent(**image);
  process->image = image->get();
  by_spool_[name] = process->image;
  images_.push_back(std::move(*image));
  return true;
}

bool ImageTable::find() {
  bool found = false;
  directory_.control().changed_processes.store(0, std::memory_order_release);
  for (const std::string& name : directory_.spools()) {
    std::uint32_t pid, image;
    if (!trace::parse_spool_name(name, pid, image) || !seen_spools_.insert(name).second) continue;
    found |= add(name, pid);
  }
  return found;
}

std::string ImageTable::parent_trace_of(const trace::ForkOrigin& fork) const {
  // As the parent numbered itself; the latest, for other namespaces give the same numbers again.
  const std::string spool =
      std::to_string(fork.parent_pid) + "." + std::to_string(fork.parent_image) + trace::kSpoolSuffix;
  const auto image = by_spool_.find(spool);
  if (image == by_spool_.end()) return {};
  const std::string& path = image->second->trace_path();
  return path.substr(path.rfind('/') + 1);
}

void ImageTable::note_parent(ImageRecording& image) const {
  std::optional<trace::ForkOrigin>& fork = image.record().info.fork;
  if (!fork) return;
  if (std::string parent = parent_trace_of(*fork); !parent.empty()) fork->parent_trace = std::move(parent);
}

bool ImageTable::parent_is_written(ImageRecording& child) {
  note_parent(child);
  const std::optional<trace::ForkOrigin>& fork = child.info().fork;
  if (!fork) return true;
  const auto parent =
      by_spool_.find(std::to_string(fork->parent_pid) + "." + std::to_string(fork->parent_image) + trace::kSpoolSuffix);
  return parent == by_spool_.end() || parent->second->has_written_until(fork->stamp);
}

void ImageTable::look_for_kills() {
  const std::uint64_t now_ns = trace::monotonic_ns();
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookPeriodNs;
  kills_.look(now_ns);
}

void ImageTable::judge_kills(const std::vector<pid_t>& over) {
  std::vector<KillLedger::Death> deaths;
  for (const pid_t pid : over) {
    const Process& process = processes_.at(pid);
    const bool in_order = process.image == nullptr || process.image->ends_in_order();
    deaths.push_back({pid, process.watch.end().seen_status, in_order});
  }
  kills_.judge(deaths, trace::monotonic_ns());
  for (const pid_t pid : over) {
    std::optional<trace::MemoryKill> kill = kills_.take(pid);
    if (ImageRecording* const image = processes_.at(pid).image; image != nullptr)
      image->record().info.memory_kill = std::move(kill);
  }
}

void ImageTable::close(Process& process, const ProcessEnd& end) {
  ImageRecording& image = *process.image;
  note_parent(image);
  image.finish(end.wait_status, end.peak_rss_bytes);
  short_traces_.put(image);
  process.image = nullptr;
  if (image.info().spool_bytes > kFewSpoolBytes) release_chunks(image.spool_path());  // its children map it on
  process.retired.push_back(image.spool_name());
  // The name stays taken while its process may make another spool.
  if (!process.watch.over()) directory_.retire(process.retired.back());
  image.summarize(outcome_, is_commands(image) ? Importance::Command : Importance::Other);
}

void ImageTable::remove(pid_t pid) {
  for (const std::string& name : processes_.at(pid).retired) {
    directory_.forget(name);
    seen_spools_.erase(name);  // a new process may get the number
  }
  processes_.erase(pid);
}

void ImageTable::settle(ImageRecording& image) {
  if (image.info().fork && image.finished()) {
    const std::string parent = parent_trace_of(*image.info().fork);
    if (!parent.empty() && image.rename_parent(parent) && image.is_member()) short_traces_.set_parent(image, parent);
  }
  if (!outcome_.failure && image.failure()) outcome_.failure = image.failure();
  for (const std::string& warning : image.warnings()) warn(warning);
}

void ImageTable::fold_old() {
  std::vector<ImageRecording*> ended;
  for (const auto& image : images_) {
    if (image->finished() && !is_commands(*image)) ended.push_back(image.get());
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

void ImageTable::warn(const std::string& warning) {
  if (outcome_.warnings.size() < kMostWarnings) outcome_.warnings.push_back(warning);
}

void ImageTable::end_early() {
  for (auto& [pid, process] : processes_) process.image = nullptr;
  by_spool_.clear();
  images_.clear();
  starved_.clear();
}

void ImageTable::finish() { short_traces_.finish(outcome_); }

}  // namespace tare::core
