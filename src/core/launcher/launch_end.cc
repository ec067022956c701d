// The end of a launch: detaching, warnings, summaries of images that have none yet. See launch.h.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/launcher/launch.h"
#include "core/launcher/process_recorder.h"
#include "core/snapshot/memory_reading.h"
#include "trace/base/clock_ns.h"
#include "trace/spool/allocator_table.h"
#include "trace/spool/spool_folder.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kLateReleaseNs = 2'000'000'000;
constexpr std::size_t kMostNamed = 3;  // programs in the warning about unrecorded processes

}  // namespace

// The first warning: the reason why a process is missing from the list.
void Launch::warn_about_unrecorded() {
  directory_.take_notices(unrecorded_);
  if (const std::uint32_t silent = directory_.control().unrecorded.load(); silent > 0) {
    unrecorded_["they can't reach " + directory_.path() + " any more (chroot?)"].processes += silent;
  }
  for (const std::string& name : images_->starved()) {
    ++unrecorded_["tare had no file descriptor left; raise the hard limit on open files (ulimit -Hn)"].processes;
    directory_.forget(name);
  }
  std::vector<std::string> warnings;
  for (const auto& [reason, same] : unrecorded_) {
    std::string warning = std::to_string(same.processes) + (same.processes == 1 ? " process" : " processes") +
                          " could not be recorded: " + reason;
    if (reason.starts_with(trace::kForeignNotice)) warning = reason;  // the rest of the process is recorded
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

// The process never allocated. The request is withdrawn, because the launcher ends.
void Launch::withdraw_requests() {
  Result<FrozenProcess> frozen = FrozenProcess::freeze(child_);
  if (!frozen || frozen->thread_count() == 0) return;
  Result<ProcessRecorder> recorder = ProcessRecorder::find(*frozen);
  if (recorder) (void)recorder->take_back();
  find_images();  // it may have begun just before
}

// After an attach, the recording ends here, and takes the snapshot that others take at the exit.
void Launch::take_final_snapshot(pid_t pid, ImageRecording& image) {
  if (options_.snapshots == TakeSnapshots::OnRequest) return;
  const Status taken = image.take_snapshot(trace::MomentKind::Exit, {}, facts_);
  if (!taken && refused_snapshots_.insert(pid).second) outcome_.warnings.push_back(taken.error().message);
}

// The spool's file is deleted here. The process keeps the mapping, for a thread that arrives late. The memory of its
// chunks, up to 64 MiB, is released.
void Launch::detach_process(pid_t pid, ImageTable::Process& process) {
  ProcessEnd end;
  process.image->read_memory_once(facts_);
  {
    Result<FrozenProcess> frozen = FrozenProcess::freeze(pid);
    if (frozen && frozen->thread_count() > 0) {
      Result<ProcessRecorder> recorder = ProcessRecorder::find(*frozen);
      Status detached = recorder ? recorder->detach() : Status(recorder.error());
      if (detached) detached = process.image->run_out_of_hooks(*frozen);
      if (detached)
        end.peak_rss_bytes = peak_resident_bytes_of(pid);
      else
        outcome_.warnings.push_back(detached.error().message);
    } else if (!frozen) {
      outcome_.warnings.push_back(frozen.error().message);
    }
  }
  images_->close(process, end);
  for (const std::string& name : process.retired) directory_.forget(name);
  // The launcher doesn't wait longer: the kernel releases threads that are still traced when the launcher ends.
  for (const std::uint64_t end_ns = trace::monotonic_ns() + kLateReleaseNs;
       !FrozenProcess::release_late_stops() && trace::monotonic_ns() < end_ns;) {
    const timespec one_ms{0, 1'000'000};
    ::nanosleep(&one_ms, nullptr);
  }
}

LaunchOutcome Launch::finish() {
  if (ended_early_) {
    outcome_.failure =
        Error{ErrorKind::Io,
              "tare had no memory left, and the recording ended early; the program ran on. Raise the limit "
              "(ulimit -v), or record less with --sample"};
    return std::move(outcome_);
  }
  warn_about_unrecorded();
  if (joined_ && image_of(child_) == nullptr) withdraw_requests();
  for (auto& [pid, process] : images_->processes()) {
    if (process.image == nullptr) continue;
    if (joined_) {
      take_final_snapshot(pid, *process.image);
      detach_process(pid, process);
      continue;
    }
    process.image->leave_memory();
    process.image->drain(DrainDepth::Everything);
    directory_.leave_behind();
    outcome_.warnings.push_back("process " + std::to_string(pid) + " still runs; what it does from now on stays in " +
                                process.image->spool_path() + ", and is read with " + process.image->trace_path());
  }
  std::vector<std::unique_ptr<ImageRecording>>& images = images_->images();
  std::stable_sort(images.begin(), images.end(),
                   [&](const auto& a, const auto& b) { return images_->is_commands(*a) && !images_->is_commands(*b); });
  std::size_t unwritten = 0;
  for (const auto& image : images) {
    images_->settle(*image);
    if (image->failure() && image->file_bytes() == 0) {
      ++unwritten;
      continue;
    }
    try {
      image->summarize_from_file(outcome_);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): a report makes the summary, or states the reason
    }
    outcome_.images.push_back({image->trace_path(), image->info(), image->calls(), image->file_bytes(),
                               image->earlier_segments(), image->summarized()});
  }
  if (const ImageTable::Folded& folded = images_->folded(); folded.images > folded.members) {
    images_->warn(std::to_string(folded.images - folded.members) +
                  " processes that ended earlier were recorded, too: " + std::to_string(folded.events) + " events, " +
                  std::to_string(folded.file_bytes) + " bytes, beside " + names_->current(child_));
  }
  images_->finish();
  if (unwritten > 1) {
    outcome_.warnings.push_back(std::to_string(unwritten) + " processes have no trace, because none could be written");
  }
  const std::string output = names_->current(child_);
  if (std::none_of(images.begin(), images.end(), [&](const auto& image) { return images_->is_commands(*image); })) {
    if (is_plain_file(output)) ::unlink(output.c_str());  // the one that only names a spool
  }
  if (!images.empty() && !allocators_failure_.empty()) outcome_.warnings.push_back(allocators_failure_);
  if (images.empty() && joined_) {
    outcome_.warnings.push_back("nothing was recorded: the process allocated nothing meanwhile");
  } else if (images.empty() && options_.asleep == StartAsleep::Yes) {
    outcome_.warnings.push_back("nothing was recorded: recording wasn't resumed (tare resume PID starts it)");
  } else if (images.empty() && !unrecorded_.empty()) {
    outcome_.warnings.push_back("nothing was recorded");  // the reason was printed before
  } else if (images.empty()) {
    outcome_.warnings.push_back(
        "nothing was recorded: the command ended before its first allocation, or it can't be preloaded");
  } else if (images.front()->trace_path() != output) {
    outcome_.warnings.push_back("the command itself wasn't recorded, only processes that it started");
  }
  return std::move(outcome_);
}

}  // namespace tare::core
