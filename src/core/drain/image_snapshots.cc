// Snapshots of a process image: stops it at a point where all blocks are known, and writes the result into its trace.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "core/drain/image_recording.h"
#include "core/process_memory/mapped_file.h"
#include "trace/base/clock_ns.h"

namespace tare::core {

using namespace trace;

namespace {

// A thread is inside a hook for a microsecond, unless it copies megabytes. But it may wait for a processor with a dozen
// others in front of it, or for the allocator's lock that another stopped thread holds: so each has its turn, and turns
// get longer.
constexpr std::uint64_t kFirstTurnNs = 100'000;
constexpr std::uint64_t kLongestTurnNs = 50'000'000;
constexpr std::uint64_t kAllTurnsNs = 2'000'000'000;

Error not_taken(std::uint32_t pid, const std::string& why) {
  return {ErrorKind::CannotRecord,
          "no snapshot of process " + std::to_string(pid) + ": " + why + "; its events are recorded"};
}

}  // namespace

bool ImageRecording::snapshot_requested() const {
  if (!spool_) return false;
  const SpoolHeader& header = spool_->header();
  return header.moment_asked.load(std::memory_order_acquire) != header.moment_done.load(std::memory_order_relaxed);
}

void ImageRecording::acknowledge_snapshot() {
  SpoolHeader& header = spool_->header();
  header.moment_done.store(header.moment_asked.load(std::memory_order_acquire), std::memory_order_release);
  ::syscall(SYS_futex, &header.moment_done, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

MomentKind ImageRecording::requested_kind() const {
  return spool_->header().moment_kind.load(std::memory_order_acquire) == static_cast<std::uint32_t>(MomentKind::Request)
             ? MomentKind::Request
             : MomentKind::Exit;
}

std::string ImageRecording::requested_name() const {
  return requested_kind() == MomentKind::Exit ? std::string() : spool_->file().string_at(spool_->header().moment_name);
}

void ImageRecording::falls_asleep() {
  if (!record_.info.asleep_ns) record_.info.asleep_ns = 0;
  if (!spool_) return;
  SpoolHeader& header = spool_->header();
  header.flags.fetch_or(kSpoolSlept, std::memory_order_release);
  if (header.asleep_since_ns.load() == 0) header.asleep_since_ns = monotonic_ns();
}

void ImageRecording::wakes_up() {
  if (!spool_) return;
  SpoolHeader& header = spool_->header();
  if (const std::uint64_t since = header.asleep_since_ns.exchange(0); since != 0) {
    header.asleep_ns.fetch_add(monotonic_ns() - since);
  }
}

bool ImageRecording::peak_is_due() {
  if (!summary_.replay() || !spool_ || failure_) return false;
  const std::uint64_t gross_bytes = summary_.replay()->replay().live_gross_bytes();
  if (!snapshots_.schedule.has_grown(gross_bytes)) return false;
  RunTime run{.wall_ns = monotonic_ns() - clock_pairs_.all().front().monotonic_ns};
  clockid_t of_process = 0;
  if (process_ != 0 && ::clock_getcpuclockid(process_, &of_process) == 0) run.cpu_ns = clock_ns(of_process);
  return snapshots_.schedule.peak_is_due(gross_bytes, run);
}

// A thread inside a hook may have an event begun that isn't written: the block of a realloc may be gone already, and no
// later event of any thread may be merged before it. So threads run on one by one until none is inside, nor waits for a
// chunk inside of one.
Status ImageRecording::run_out_of_hooks(FrozenProcess& process) {
  const std::uint64_t begin_ns = monotonic_ns();
  std::uint64_t turn_ns = kFirstTurnNs;
  std::size_t turn = 0;
  do {
    while (drain(DrainDepth::Everything).chunks > 0) {
    }
    if (failure_) return *failure_;
    if (!process.is_held()) return ok();  // killed: the event that a hook had begun is never written
    std::vector<const ThreadStream*> inside;
    for (const ThreadStream& stream : streams_->all()) {
      if (streams_->is_inside_hook(stream)) inside.push_back(&stream);
    }
    if (inside.empty()) return ok();
    const ThreadStream& next = *inside[turn++ % inside.size()];
    const std::uint32_t tid = streams_->tid_of(next);
    const auto is_out = [&] { return !streams_->is_inside_hook(next); };
    (void)process.let_run(process.thread_numbered(static_cast<pid_t>(tid)), is_out, turn_ns);
    if (turn % inside.size() == 0) turn_ns = std::min(2 * turn_ns, kLongestTurnNs);
  } while (monotonic_ns() - begin_ns < kAllTurnsNs);
  return not_taken(record_.info.pid, "a thread stayed inside the allocator");
}

Status ImageRecording::drain_frozen(FrozenProcess& process) {
  if (Status out = run_out_of_hooks(process); !out) return out;
  // All threads are stopped outside hooks, so their next stamps are later than now.
  if (!summary_.replay()->merge().sound()) {
    return not_taken(record_.info.pid, "its threads' events came too far apart to be merged");
  }
  const std::uint64_t now = stamp_now();
  const auto settle = [&] {
    OnlineMerge& merge = summary_.replay()->merge();
    for (const ThreadStream& stream : streams_->all()) merge.set_watermark(stream.packer.thread, now);
    merge.advance(now);
  };
  settle();
  if (segments_.cut.stamp()) {  // the moment is the next segment's
    segments_.cut.settle_all(now);
    close_segment();
    if (failure_) return *failure_;
    settle();
  }
  // It comes behind all events so far.
  for (ThreadStream& stream : streams_->all()) pack_until(stream, OnlineMerge::kEnded);
  return failure_ ? Status(*failure_) : ok();
}

ObservedProcess ImageRecording::observed_process(const SnapshotFacts& facts) const {
  ObservedProcess observed;
  for (const auto& [start, range] : summary_.replay()->replay().mappings().ranges()) {
    observed.program_mappings.push_back({start, range.end});
  }
  observed.heap = record_.info.fork || record_.info.asleep_ns ? HeapKnowledge::Partly : HeapKnowledge::Whole;
  observed.allocator_maps_through_hooks = record_.info.allocator != AllocatorKind::Glibc;
  observed.recorder_library = facts.recorder_library;
  observed.spool_folder = facts.spool_folder;
  observed.content_table = spool_->header().content_table;
  observed.own_ranges = spool_->header().own_ranges;
  // A sample has too few blocks to follow pointers.
  observed.links = record_.info.sample_bytes == 0 ? Links::Find : Links::Skip;
  return observed;
}

Status ImageRecording::take_snapshot(MomentKind kind, const std::string& name, const SnapshotFacts& facts) {
  if (failure_) return *failure_;
  if (snapshots_.schedule.wanted()) begin_replay();
  if (!summary_.replay() || !spool_ || !summary_.replay()->merge().sound()) {
    return not_taken(record_.info.pid, summary_.replay()
                                           ? "its threads' events came too far apart to be merged"
                                           : "its live blocks aren't known while it runs (tare run --snapshots)");
  }
  if (process_ == 0) return ok();
  SpoolHeader& header = spool_->header();
  // Anyone who can write into the folder can put a spool there under another process's number.
  const Mapped mapped = MappedFile(spool_path()).in(process_);
  if (mapped == Mapped::Ended || (header.flags.load(std::memory_order_acquire) & kSpoolReplaced) != 0) return ok();
  if (mapped == Mapped::No) return not_taken(record_.info.pid, "it doesn't use " + spool_path());
  header.moment_begun.store(header.moment_asked.load(std::memory_order_acquire), std::memory_order_release);
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t begin_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  Moment moment;
  {
    Result<FrozenProcess> process = FrozenProcess::freeze(process_);
    if (!process) return process.error();
    if (process->thread_count() == 0) return ok();  // short-lived children end before their last chunk is read
    if (Status drained = drain_frozen(*process); !drained) return drained;
    ObservedProcess observed = observed_process(facts);
    observed.compares_later = kind != MomentKind::Exit;
    moment = snapshots_.observer.observe(*process, summary_.replay()->replay().live_blocks(), observed, begin_ns);
    moment.stamp = stamp_now();
    if (!process->is_held()) return ok();
  }
  clock_pairs_.add({stamp_now(), monotonic_ns()});
  moment.kind = kind;
  moment.name = name;
  moment.events_before = record_.event_count;
  moment.frozen_ns = monotonic_ns() - begin_ns;
  moment.cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns;
  if (kind == MomentKind::Peak) {
    snapshots_.schedule.record_peak(summary_.replay()->replay().live_gross_bytes(), moment.cost_ns);
    snapshots_.peak_candidate = std::move(moment);  // of all candidates only the last is of use
    return ok();
  }
  if (kind == MomentKind::Exit) write_snapshots();
  put_moment(moment);
  if (kind == MomentKind::Exit && record_.info.contents_recorded)
    summary_.replay()->add_exit_contents(std::move(moment.blocks));
  write_out();
  return ok();
}

void ImageRecording::put_moment(const Moment& moment) {
  output_.append().put_growth(dictionary_);
  output_.append().put_moment(moment);
  ++record_.info.moments;
}

void ImageRecording::write_snapshots() {
  if (snapshots_.peak_candidate) put_moment(*snapshots_.peak_candidate);
  snapshots_.peak_candidate.reset();
}

}  // namespace tare::core
