// Segments of an image's recording: that part of image_recording.h.
//
// A segment ends at a stamp: all earlier events are in it, all others in the next, so that the live blocks at that
// stamp connect both. Threads are drained one after the other. So only events that all threads have passed get into the
// file, and the stamp lies behind those.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <utility>

#include "core/drain/image_recording.h"
#include "core/drain/segments/renumbering.h"
#include "core/tables/inherited.h"
#include "trace/base/clock_ns.h"
#include "trace/model/spool_event_count.h"
#include "trace/open/open_trace.h"

namespace tare::core {

using namespace trace;

namespace {

constexpr const char* kNewSuffix = ".new";

// It belongs to the event after it.
bool leads_to_next(const Event& event, const Dictionary& dictionary) {
  switch (event.kind) {
    case EventKind::ReallocEnd:
    case EventKind::Contents:
    case EventKind::Digest:
    case EventKind::NewDigest:
    case EventKind::Seen:
    case EventKind::ReportSite:
      return true;
    case EventKind::Unmap:
      return !counts_as_spool_event(event, dictionary);
    default:
      return false;
  }
}

std::uint64_t cell(const Table& process, const char* name) {
  const Column& column = process[name];
  return column.ints.empty() || column.is_null(0) ? 0 : static_cast<std::uint64_t>(column.ints.front());
}

// The sums before the next segment.
SegmentSums sums_after(const SegmentSums& before, const Table& process) {
  SegmentSums after = before;
  after.duration_ns += cell(process, "duration_ns");
  after.alloc_events += cell(process, "alloc_events");
  after.free_events += cell(process, "free_events");
  after.realloc_events += cell(process, "realloc_events");
  after.map_events += cell(process, "map_events");
  after.total_blocks += cell(process, "total_blocks");
  after.total_requested_bytes += cell(process, "total_requested_bytes");
  after.total_usable_bytes += cell(process, "total_usable_bytes");
  after.total_gross_bytes += cell(process, "total_gross_bytes");
  after.dropped_events += cell(process, "dropped_events");
  if (cell(process, "peak_gross_bytes") > before.peak_gross_bytes) {
    after.peak_gross_bytes = cell(process, "peak_gross_bytes");
    after.peak_ns = before.duration_ns + cell(process, "peak_time_ns");
  }
  return after;
}

// Counters of the spool count from the program's start, those of a segment from its own.
std::vector<UnwindGapCount> difference(const std::vector<UnwindGapCount>& now,
                                       const std::vector<UnwindGapCount>& before) {
  std::map<std::uint32_t, std::uint64_t> earlier;
  for (const UnwindGapCount& gap : before) earlier[index(gap.row)] += gap.stacks;
  std::vector<UnwindGapCount> gaps;
  for (const UnwindGapCount& gap : now) {
    const std::uint64_t known = std::exchange(earlier[index(gap.row)], 0);
    if (gap.stacks > known) gaps.push_back({gap.row, gap.stacks - known});
  }
  return gaps;
}

}  // namespace

// Of the stream's pending events, those that a boundary there would leave before it.
std::size_t ImageRecording::events_before(const Stream& stream, std::uint64_t stamp) const {
  const EventBuffer& pending = stream.packer.pending;
  if (pending.empty() || pending.back().stamp < stamp) return pending.size();
  const Event* const begin = pending.data();
  const auto is_before = [&](const Event& event) { return event.stamp < stamp; };
  auto count = static_cast<std::size_t>(std::partition_point(begin, begin + pending.size(), is_before) - begin);
  while (count > 0 && leads_to_next(begin[count - 1], dictionary_)) --count;
  return count;
}

// In blocks that readers take: a thread that another held back has more.
void ImageRecording::pack_until(Stream& stream, std::uint64_t stamp) {
  std::size_t left = events_before(stream, stamp);
  while (left > 0) {
    const EventBuffer& pending = stream.packer.pending;
    std::size_t count = left;
    if (count > kBlockEvents) {
      count = kBlockEvents;
      while (count > 1 && leads_to_next(pending[count - 1], dictionary_)) --count;
    }
    std::uint64_t made = stream.packer.decode.spool_events;
    if (count < pending.size()) {
      made = stream.packer.packed_events;
      for (std::size_t at = 0; at < count; ++at) made += counts_as_spool_event(pending[at], dictionary_);
    }
    pack_front(stream, count, made);
    left -= count;
  }
}

std::uint64_t ImageRecording::bytes_until(std::uint64_t stamp) const {
  std::uint64_t pending = 0;
  for (const Stream& stream : streams_) pending += events_before(stream, stamp);
  return cut_.bytes_with(writer_->file_bytes(), record_.event_count, pending);
}

// All events before `settled` have been decoded. Those of them that fit go into the present segment.
void ImageRecording::find_boundary(std::uint64_t settled) {
  std::uint64_t least = cut_.settle(settled);
  if (cut_.stamp() || failure_ || writer_->is_in_memory()) return;
  for (const Stream& stream : streams_) least = std::max(least, stream.packed_stamp + 1);
  const std::uint64_t most = cut_.most_bytes();
  if (bytes_until(settled) <= most) return;
  std::uint64_t greatest = std::max(settled, least);
  if (greatest == OnlineMerge::kEnded) {  // no thread goes on
    greatest = least;
    for (const Stream& stream : streams_) greatest = std::max(greatest, stream.packer.decode.last_stamp + 1);
  }
  while (least < greatest) {
    const std::uint64_t middle = least + (greatest - least + 1) / 2;
    if (bytes_until(middle) <= most) {
      least = middle;
    } else {
      greatest = middle - 1;
    }
  }
  cut_.set(least);
  if (replay_) replay_->merge().set_ceiling(least);
}

bool ImageRecording::boundary_is_due() {
  if (!cut_.stamp() || failure_) return false;
  if (!cut_.is_settled() && !is_held_back()) return false;
  const bool needs_parent = record_.info.fork && !knows_earlier_;
  return !needs_parent || gaps_are_final_ || !parent_is_written_ || parent_is_written_(*this);
}

bool ImageRecording::has_written_until(std::uint64_t stamp) {
  if (failure_ || finished()) return true;
  leave_memory();
  drain(DrainDepth::Everything);
  return !cut_.stamp() || *cut_.stamp() > stamp;
}

bool ImageRecording::put_counters() {
  ProcessInfo& info = record_.info;
  if (!spool_->file().update(info)) return false;
  info.folded = decoder_->folded();
  if (!cut_.wanted()) return true;
  const ProcessInfo all = info;
  info.dropped_events -= counted_.dropped_events;
  info.truncated_stacks -= counted_.truncated_stacks;
  info.unwind_failures -= counted_.unwind_failures;
  info.nested_events -= counted_.nested_events;
  info.unwind_gaps = difference(all.unwind_gaps, counted_.unwind_gaps);
  counted_ = all;
  return true;
}

// The file so far becomes a complete trace. Returns the state with which the next segment begins.
Result<ImageRecording::NextSegment> ImageRecording::end_segment() {
  const std::uint64_t stamp = *cut_.stamp();
  const bool is_exact = replay_ && replay_->merge().sound() && cut_.is_settled() && knows_earlier_;
  std::vector<ClockPair> pairs(clock_pairs_.all().begin(), clock_pairs_.all().end());
  pairs.push_back({std::max(stamp_now(), stamp), trace::monotonic_ns()});
  NextSegment next;
  next.begin = {stamp, pairs.front().monotonic_ns + Clock(pairs).ns(stamp)};
  const std::uint32_t number = record_.info.segment->number;
  const SegmentSums before = record_.info.segment->before;
  next.segment.number = number + 1;
  next.segment.stamp = stamp;
  for (Stream& stream : streams_) {
    pack_until(stream, stamp);
    const EventBuffer& beyond = stream.packer.pending;
    const std::uint64_t made = stream.packer.packed_events;
    const std::uint64_t last = beyond.empty() ? stream.packer.decode.last_stamp : beyond[0].stamp;
    if (made != 0) next.segment.positions.push_back({stream.packer.thread, made, last});
    record_.spool_events += made;
  }
  for (const ThreadPosition& at : record_.info.segment->positions) record_.spool_events -= at.made_events;
  record_.thread_count = static_cast<std::uint32_t>(streams_.size());
  std::erase_if(pairs, [&](const ClockPair& pair) { return pair.stamp >= stamp; });
  pairs.push_back(next.begin);
  if (is_exact) {
    next.live = replay_->replay().live_set();
    next.segment.before = sums_after(before, replay_->tables_so_far(pairs)["process"]);
  }
  write_snapshots();
  put_counters();
  put_last_names();
  writer_->put_clock(clock_pairs_.take_unwritten(stamp));
  writer_->put_clock({&next.begin, 1});
  something_packed_ = true;
  write_out();
  if (failure_) return *failure_;
  ProcessRecord record = record_;
  record.info.segment->continued = true;
  writer_->put_end(record);
  something_packed_ = true;
  write_out();
  if (failure_) return *failure_;
  if (is_exact) return next;
  // A forked child's inheritance is in its parent's trace, and threads too far apart are merged from the file: a second
  // per ten million events.
  Result<OpenedTrace> opened = open_trace(trace_path_);
  if (!opened) return opened.error();
  const std::optional<LiveSet> earlier = inherited_blocks(trace_path_, *opened, {}, warnings_);
  Replay replay(opened->dictionary(), opened->info(), {});
  if (earlier) replay.inherit(*earlier);
  if (Status read = opened->replay_into(replay); !read) return read.error();
  next.live = replay.live_set();
  next.segment.before = sums_after(before, replay.finish(opened->clock_pairs())["process"]);
  return next;
}

void ImageRecording::begin_segment(NextSegment next) {
  Renumbering renumbering(dictionary_);
  for (Stream& stream : streams_) {
    EventBuffer& beyond = stream.packer.pending;
    for (std::size_t at = 0; at < beyond.size(); ++at) renumbering.renumber(beyond[at]);
    stream.packer.decode.stack = renumbering.stack(stream.packer.decode.stack);
  }
  const bool has_replay = static_cast<bool>(replay_);
  replay_.reset();  // it refers to the dictionary, as the decoder does
  decoder_.reset();
  dictionary_ = renumbering.take();
  decoder_ =
      std::make_unique<SpoolDecoder>(dictionary_, [this](StringRef ref) { return spool_->file().string_at(ref); });
  cut_.close(writer_->file_bytes(), record_.event_count);
  Result<TraceWriter> writer = TraceWriter::create(trace_path_ + kNewSuffix);
  if (!writer) {
    failure_ = writer.error();
    return;
  }
  const std::uint32_t closed = record_.info.segment->number;
  const std::uint64_t stamp = next.begin.stamp;
  writer_.emplace(std::move(*writer));
  writer_->on_full_disk([this] { return make_room(); });
  record_.info.segment = std::move(next.segment);
  record_.event_count = record_.spool_events = 0;
  record_.info.moments = 0;
  record_.info.reading.reset();
  readings_ = ReadingSchedule(monotonic_ns());
  used_shapes_ = 0;
  clock_pairs_.begin_segment(next.begin);
  writer_->put_process(record_);
  writer_->put_live(next.live);
  writer_->put_clock(clock_pairs_.take_unwritten(stamp + 1));
  something_packed_ = true;
  write_out();
  cut_.begin(writer_->file_bytes());
  if (failure_) return;
  if (Status named = segments_.close(trace_path_, closed, trace_path_ + kNewSuffix); !named) {
    failure_ = named.error();
    return;
  }
  writer_->renamed(trace_path_);
  if (cut_.has_large_head() && is_first(Once::LargeHead)) {
    warnings_.push_back("the live blocks alone take " + std::to_string(cut_.head_bytes() >> 10) +
                        " KiB of a segment of " + trace_path_ + ": segments are larger than --max-size");
  }
  if (has_replay) {
    make_replay();
    replay_->inherit(next.live);
    for (const Stream& stream : streams_) replay_->merge().append(stream.packer.thread, stream.packer.pending);
  }
  knows_earlier_ = true;
}

// A single thread's events would go through up to the last, beyond where a segment ends.
void ImageRecording::make_replay() {
  replay_ = std::make_unique<FusedReplay>(dictionary_, record_.info);
  if (cut_.wanted() || spool_->table_counts().threads > 1) replay_->merge().expect_threads();
}

void ImageRecording::close_segment() {
  Result<NextSegment> next = end_segment();
  if (next) begin_segment(*std::move(next));
  if (!next && !failure_) failure_ = next.error();
  cut_.clear();
}

bool ImageRecording::make_room() {
  if (!segments_.give_up_oldest()) return false;
  if (is_first(Once::FullDisk)) {
    warnings_.push_back("the disk was full: older segments of " + trace_path_ +
                        " were deleted before --rotate asked for it");
  }
  return true;
}

}  // namespace tare::core
