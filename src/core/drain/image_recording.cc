// From a spool into a trace: see image_recording.h.
#include "core/drain/image_recording.h"

#include <algorithm>
#include <utility>

#include "trace/base/process_files.h"
#include "trace/spool/ticks.h"

namespace tare::core {

using namespace trace;

namespace {

// The next stamp of a thread outside hooks is later than now, within this margin: the delay of a store buffer,
// differences between the clocks of cores, and the 0.5 ms for which a stamp is reused.
constexpr std::uint64_t kMarginTicks = 4'000'000;
constexpr std::uint64_t kMarginNs = 1'000'000;
constexpr int kChunksPerPass = 16;                 // of a thread, before others and the merge have their turn
constexpr std::uint64_t kYoungNs = 5'000'000'000;  // older processes have a file that can be read
constexpr std::size_t kMostHeld = 256;             // chunks; a quarter of the usual limit
constexpr std::size_t kLeastKept = 16;             // chunks that stay when a spool is trimmed

}  // namespace

Result<std::unique_ptr<ImageRecording>> ImageRecording::create(LiveSpool spool, pid_t process,
                                                               const std::string& trace_path, Summarize summarize,
                                                               EventBlockEncoder& encoder, TakeSnapshots snapshots,
                                                               FirstPlace place, const SegmentLimits& limits) {
  Result<ProcessInfo> info = spool.file().process();
  if (!info) return info.error();
  std::unique_ptr<ImageRecording> image(
      new ImageRecording(std::move(spool), trace_path, encoder, summarize, std::move(*info)));
  image->process_ = process;
  if (process != 0) image->record_.info.pid = static_cast<std::uint32_t>(process);
  image->snapshots_.schedule = SnapshotSchedule(snapshots);
  image->segments_.cut = SegmentCut(limits);
  image->segments_.files = SegmentFiles(limits.keep);
  if (limits.wanted()) image->record_.info.segment.emplace();
  if (image->summary_.is_wanted() || image->snapshots_.schedule.wanted() || limits.wanted()) {
    if (place == FirstPlace::Memory) {
      image->summary_.wait();
    } else {
      image->summary_.begin_replay(image->dictionary_, image->record_.info, image->expected_threads());
    }
  }
  image->begin_ns_ = monotonic_ns();
  image->readings_ = ReadingSchedule(image->begin_ns_);
  const Status begun = image->output_.begin(place, image->record_, [&made = *image] { return made.make_room(); });
  if (!begun) image->fail(begun.error());
  return image;
}

ImageRecording::ImageRecording(LiveSpool spool, const std::string& trace_path, EventBlockEncoder& encoder,
                               Summarize summarize, ProcessInfo info)
    : spool_(std::move(spool)), output_(trace_path, encoder), summary_(summarize, !info.fork) {
  record_.info = std::move(info);
  record_.spool_path = spool_->file().path();
  clock_pairs_.begin(spool_->file().start());
  streams_.emplace(*spool_, dictionary_);
}

ImageRecording::~ImageRecording() = default;

std::uint64_t ImageRecording::stamp_now() const {
  return spool_->file().stamps_are_ns() ? monotonic_ns() : trace::ticks();
}

// The trace can't be written: its chunks are discarded, and the program shall not notice.
void ImageRecording::fail(const Error& error) {
  failure_ = error;
  summary_.stop_replay();
}

void ImageRecording::begin_chunk(ThreadStream& stream) {
  const std::uint64_t lost = streams_->begin_chunk(stream);
  const ChunkControl& control = spool_->control(stream.queue.front().index);
  if (lost != 0) {
    hand_to_replay(stream, 1);
    warnings_.add(std::to_string(lost) + " events of thread " + std::to_string(stream.packer.thread) + " of process " +
                  std::to_string(record_.info.pid) + " were lost; what follows them is recorded");
    // Lost events count in the position of the thread, so no segment may end among them.
    if (segments_.cut.wanted()) pack_front(stream, stream.packer.pending.size(), stream.packer.decode.spool_events);
  }
  clock_pairs_.offer({control.open_stamp, control.open_monotonic_ns});
}

bool ImageRecording::decode_front(ThreadStream& stream, DrainDepth depth, DrainCounts& counts) {
  if (!stream.in_chunk) {
    // It was opened during the search: next time.
    if (stream.queue.front().serial != stream.next_serial && !gaps_are_final_) return false;
    begin_chunk(stream);
  }
  const bool full = streams_->is_full(stream);
  const bool whole =
      full || segments_.cut.stamp() || snapshots_.schedule.wanted() || spool_->table_counts().threads >= 2;
  if (!whole && depth == DrainDepth::Usual) return false;
  const Result<ThreadStreams::Decoded> decoded = streams_->decode_chunk(stream, full);
  if (!decoded) {
    fail(decoded.error());
    return false;
  }
  if (decoded->is_spool_cut) {
    is_cut();
    return false;
  }
  if (decoded->damage) {
    warnings_.add("process " + std::to_string(record_.info.pid) + " wrote over its own recording (" +
                  decoded->damage.what + "); up to 64 KiB of events are missing");
  }
  counts.events += decoded->events;
  // Read after the events: the first event of a thread that is counted later has a later stamp.
  if (summary_.replay() && spool_->table_counts().threads > 1) summary_.replay()->merge().expect_threads();
  if (decoded->events != 0) hand_to_replay(stream, decoded->events);
  if (!full && !gaps_are_final_) return false;
  streams_->end_chunk(stream, full);
  ++counts.chunks;
  return true;
}

void ImageRecording::hand_to_replay(const ThreadStream& stream, std::size_t events) {
  // A shell's child that executes a program needs none.
  if (snapshots_.schedule.wanted() && !gaps_are_final_) begin_replay();
  if (!summary_.replay() && gaps_are_final_) return;
  const EventBuffer& pending = stream.packer.pending;
  summary_.add(stream.packer.thread, std::span<const Event>(pending).last(events));
}

void ImageRecording::pack(ThreadStream& stream) {
  const SegmentCut& cut = segments_.cut;
  if (cut.wanted()) {
    return pack_until(stream, is_held_back() ? OnlineMerge::kEnded : cut.stamp().value_or(cut.settled_stamp()));
  }
  pack_front(stream, stream.packer.pending.size(), stream.packer.decode.spool_events);
}

// `spool_events`: of the thread, up to the last of so many pending events.
void ImageRecording::pack_front(ThreadStream& stream, std::size_t count, std::uint64_t spool_events) {
  if (count == 0) return;
  const auto events = std::span<const Event>(stream.packer.pending).first(count);
  record_.event_count += count;
  for (const Event& event : events) {
    calls_ += event.kind < EventKind::ThreadStart && event.kind != EventKind::ReallocEnd;
  }
  stream.packed_stamp = events.back().stamp;
  // A segment may end right behind these events.
  const std::span<const ClockPair> pairs =
      segments_.cut.wanted() ? clock_pairs_.take_unwritten(stream.packed_stamp + 1) : clock_pairs_.take_unwritten();
  output_.append_events(stream.packer, dictionary_, count, spool_events, pairs);
  streams_->mark_written(stream, spool_events);
  if (stream.over && stream.packer.pending.empty()) stream.packer.pending.reset();
}

void ImageRecording::pack_until(ThreadStream& stream, std::uint64_t stamp) {
  std::size_t left = stream.events_before(stamp, dictionary_);
  while (left > 0) {
    const std::size_t count = stream.events_of_block(left, dictionary_);
    pack_front(stream, count, stream.spool_events_until(count, dictionary_));
    left -= count;
  }
}

void ImageRecording::write_out() {
  if (!output_.has_unwritten() || may_stay_in_memory()) return;
  if (output_.is_in_memory()) return leave_memory();
  if (const Status status = output_.flush(); !status) fail(status.error());
  streams_->release_written();
}

void ImageRecording::advance_merge(std::uint64_t now) {
  const std::uint64_t margin = spool_->file().stamps_are_ns() ? kMarginNs : kMarginTicks;
  const std::uint64_t settled = gaps_are_final_ ? OnlineMerge::kEnded : now > margin ? now - margin : 0;
  std::uint64_t lowest = settled;
  FusedReplay* const replay = summary_.replay();
  for (const ThreadStream& stream : streams_->all()) {
    const std::uint64_t watermark = stream.watermark(settled);
    lowest = std::min(lowest, watermark);
    if (replay) replay->merge().set_watermark(stream.packer.thread, watermark);
  }
  // After the search for chunks a thread may have opened its first one, and later stamps of other threads have been
  // read since.
  if (segments_.cut.wanted()) find_boundary(lowest);
  if (replay) replay->merge().advance(settled);
}

// As many chunks as were in use at once since the last call are needed again. More stay where the launcher once got no
// processor for a while. A program behind a filter may be forbidden to take the memory again.
void ImageRecording::trim_spool() {
  if (!spool_) return;
  const std::size_t most_used = streams_->take_most_in_use();
  if (process_ == 0) return;
  const std::size_t keep = std::max(most_used + most_used / 4, kLeastKept);
  if (spool_->chunk_count() <= keep) return;
  const std::optional<std::string> status = read_process_file(process_, "status");
  if (status && status->find("\nSeccomp:\t0\n") != std::string::npos) spool_->trim_free(keep);
}

bool ImageRecording::is_cut() {
  if (!spool_->is_cut()) return false;
  warnings_.add_once(ImageWarnings::Once::Cut, "the spool of process " + std::to_string(record_.info.pid) +
                                                   " was truncated, by that process or another one; its recording " +
                                                   "ends there");
  return true;
}

// A block of one thread fills up to 75 chunks. Under a small limit, or with many threads, the program would wait for
// chunks while the launcher waits for more events.
std::size_t ImageRecording::most_held() const {
  const SpoolHeader& header = spool_->header();
  std::size_t limit = header.chunk_limit.load(std::memory_order_relaxed);
  if (const std::uint32_t most = header.most_chunks.load(std::memory_order_relaxed); most != 0)
    limit = std::min<std::size_t>(limit, most);
  return limit == 0 ? kMostHeld : std::min(kMostHeld, limit / 4);
}

DrainCounts ImageRecording::drain(DrainDepth depth) {
  DrainCounts counts;
  if (failure_) {
    streams_->discard_all();
    return counts;
  }
  if (is_cut()) return counts;
  if (depth == DrainDepth::Everything && !gaps_are_final_ && monotonic_ns() - begin_ns_ > kYoungNs) leave_memory();
  const std::uint64_t now = stamp_now();
  streams_->find_chunks();
  for (ThreadStream& stream : streams_->all()) {
    stream.idle = false;
    int left = kChunksPerPass;
    while (left-- > 0 && !stream.queue.empty() && decode_front(stream, depth, counts)) {
      // Each block is written and its chunks are returned at once: if the spool is full, the program waits for them.
      if (stream.packer.pending.size() >= block_events_) pack(stream);
      write_out();
      if (failure_) return counts;
    }
  }
  if (depth == DrainDepth::Everything || streams_->chunks().waiting() > most_held()) {
    for (ThreadStream& stream : streams_->all()) pack(stream);
  }
  write_out();
  if (summary_.replay() || segments_.cut.wanted()) advance_merge(now);
  while (boundary_is_due()) {
    close_segment();
    if (!failure_) advance_merge(now);  // the pending events may exceed one segment
  }
  return counts;
}

std::uint64_t ImageRecording::waiting_events() const {
  std::uint64_t sum = 0;
  if (!streams_) return sum;
  for (const ThreadStream& stream : streams_->all()) sum += stream.packer.pending.size();
  return sum;
}

std::optional<Tables> ImageRecording::tables_so_far() {
  leave_memory();
  drain(DrainDepth::Everything);
  if (!summary_.is_exact()) return std::nullopt;
  std::vector<ClockPair> pairs(clock_pairs_.all().begin(), clock_pairs_.all().end());
  pairs.push_back({stamp_now(), monotonic_ns()});
  return summary_.replay()->tables_so_far(pairs);
}

void ImageRecording::rest_descriptors(int from) {
  if (spool_ && spool_->file().holds_descriptor_from(from)) spool_->file().rest();
  output_.rest_descriptor(from);
}

}  // namespace tare::core
