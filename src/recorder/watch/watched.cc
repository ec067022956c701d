// The recorder of a watched process: its settings, the events of a hook, and the end of its file.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <errno.h>
#include <fcntl.h>

#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/events/nested.h"
#include "recorder/events/record.h"
#include "recorder/limits/budget.h"
#include "recorder/process/environment.h"
#include "recorder/recorder.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

void Recorder::read_watch_environment(char** environment) {
  const char* folder = variable(environment, trace::kEnvWatch);
  if (folder == nullptr || folder[0] != '/') return;
  const char* distance = variable(environment, trace::kEnvWatchSample);
  const char* keep = variable(environment, trace::kEnvWatchKeep);
  Text(directory_, sizeof(directory_)).add(folder);
  sample_bytes_ = distance == nullptr ? 0 : bytes_of(distance);
  if (sample_bytes_ == 0) sample_bytes_ = trace::kWatchSampleBytes;
  Budget budget;
  const char* const limits = variable(environment, trace::kEnvWatchBudget);
  if (limits != nullptr && limits[0] != '\0' && !parse_budget(limits, budget)) complain_of_budget(limits);
  watch.set_budget(budget);
  keeps_watch_file_ = keep != nullptr && std::strcmp(keep, "1") == 0;
  free_stacks_ = false;
  wants_contents_ = false;
  watching_.store(true, std::memory_order_relaxed);
}

// The words of the events of one hook, in the place of a chunk. They are applied and dropped at its end.
bool Recorder::make_watched_room(Thread* thread, std::uint64_t words) {
  const sys::SignalsBlocked blocked;
  if (thread->watched_words == nullptr) {
    thread->watched_words = static_cast<std::uint64_t*>(reserve_zeroed(trace::kChunkBytes));
    if (thread->watched_words == nullptr) return false;
  }
  if (thread->begin == nullptr) {
    thread->begin = thread->cursor = thread->watched_words;
    thread->attention.fetch_or(kWatched, std::memory_order_relaxed);
  }
  set_end(thread);
  if (has_queued(thread)) write_queued(thread);
  if (!has_room(thread, words)) apply_watched(thread);
  thread->unwinder.forget();  // the capture that found no room stays unwritten
  return has_room(thread, words);
}

void Recorder::apply_watched(Thread* thread) {
  std::uint64_t* const begin = thread->begin;
  if (begin == nullptr || begin != thread->watched_words) return;
  const std::uint64_t* const end = thread->cursor;
  thread->cursor = begin;
  thread->gap_start = 0;
  thread->unwinder.forget();  // each hook's events stand for themselves
  if (is_inherited() || !watching()) return;
  if (watch.apply(begin, end, thread->id)) return;
  if (alive()) complain_of_stopped_watch();
  stop();
}

void Recorder::complain_of_stopped_watch() {
  if (said_full_) return;
  said_full_ = true;
  char line[640];
  Text text(line, sizeof(line) - 1);
  const trace::WatchStop reason = watch.stopped();
  const char* const limit = reason == trace::WatchStop::CpuBudget      ? "CPU share"
                            : reason == trace::WatchStop::MemoryBudget ? "memory"
                            : reason == trace::WatchStop::DiskBudget   ? "disk space"
                                                                       : nullptr;
  text.add("tare: ");
  if (limit == nullptr) {
    text.add(spool_->path()).add(" has no room for more; ");
  } else {
    text.add("the budget's ").add(limit).add(" can't be kept at any distance between samples; ");
  }
  text.add(program_).add(" runs on, what it does from now on is not recorded");
  say(line, text.length());
}

void Recorder::complain_of_budget(const char* limits) {
  char line[640];
  Text text(line, sizeof(line) - 1);
  text.add("tare: TARE_BUDGET has no limits such as cpu=0.5%,memory=16M,disk=1M: '").add(limits);
  text.add("'; the process is watched without a budget");
  say(line, text.length());
}

// Of the programs that this process was before: exec replaced them.
void Recorder::remove_own_watch_files() {
  const trace::WatchState& own = *reinterpret_cast<const trace::WatchState*>(spool_->base(WatchArea::State));
  for (std::uint32_t number = 0; number < 1000; ++number) {
    Text path(spool_->path_buffer(), kPathBytes);
    path.add(directory_).add("/").add_number(process_id_).add(".").add_number(number).add(trace::kWatchSuffix);
    if (path.overflowed()) return;
    const long fd = sys::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd == -ENOENT) return;
    if (sys::failed(fd)) continue;
    trace::WatchState other;
    const long got = sys::call(SYS_pread64, fd, sys::word(&other), offsetof(trace::WatchState, totals),
                               static_cast<long>(trace::kWatchState));
    sys::close(fd);
    if (got != static_cast<long>(offsetof(trace::WatchState, totals)) ||
        other.process_start_ticks != own.process_start_ticks || own.process_start_ticks == 0 ||
        std::memcmp(other.boot_id, own.boot_id, sizeof(own.boot_id)) != 0) {
      continue;
    }
    sys::call(SYS_unlinkat, AT_FDCWD, sys::word(path.c_str()), 0);
  }
}

// The program is about to forbid itself the calls that make pages of the file real: a part of each region is made so
// now. If it fills up, recording ends.
void Recorder::make_watch_file_real() {
  constexpr std::uint64_t kPart = 128 << 10;
  using Region = Tables::Region;
  for (const Region region : {Region::Strings, Region::Modules, Region::Rows}) spool_->ensure(region, kPart);
  for (const WatchArea area : {WatchArea::Nodes, WatchArea::Sums, WatchArea::Samples}) spool_->ensure(area, 2 * kPart);
}

// An exit in order: a file that stays means that the process was killed or crashed.
void Recorder::end_watch(Spool& spool) const {
  if (keeps_watch_file_) {
    spool.header()->flags.fetch_or(trace::kSpoolEnded, std::memory_order_release);
  } else {
    spool.unlink();
  }
}

}  // namespace tare::recorder
