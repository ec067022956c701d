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

std::uint64_t ImageRecording::bytes_until(std::uint64_t stamp) const {
  std::uint64_t pending = 0;
  for (const ThreadStream& stream : streams_->all()) pending += stream.events_before(stamp, dictionary_);
  return segments_.cut.bytes_with(output_.file_bytes(), record_.event_count, pending);
}

// All events before `settled` have been decoded. Those of them that fit go into the present segment.
void ImageRecording::find_boundary(std::uint64_t settled) {
  SegmentCut& cut = segments_.cut;
  std::uint64_t least = cut.settle(settled);
  if (cut.stamp() || failure_ || output_.is_in_memory()) return;
  for (const ThreadStream& stream : streams_->all()) least = std::max(least, stream.packed_stamp + 1);
  const std::uint64_t most = cut.most_bytes();
  if (bytes_until(settled) <= most) return;
  std::uint64_t greatest = std::max(settled, least);
  if (greatest == OnlineMerge::kEnded) {  // no thread goes on
    greatest = least;
    for (const ThreadStream& stream : streams_->all()) {
      greatest = std::max(greatest, stream.packer.decode.last_stamp + 1);
    }
  }
  while (least < greatest) {
    const std::uint64_t middle = least + (greatest - least + 1) / 2;
    if (bytes_until(middle) <= most) {
      least = middle;
    } else {
      greatest = middle - 1;
    }
  }
  cut.set(least);
  if (summary_.replay()) summary_.replay()->merge().set_ceiling(least);
}

bool ImageRecording::boundary_is_due() {
  if (!segments_.cut.stamp() || failure_) return false;
  if (!segments_.cut.is_settled() && !is_held_back()) return false;
  const bool needs_parent = record_.info.fork && !summary_.knows_earlier();
  return !needs_parent || gaps_are_final_ || !segments_.parent_is_written || segments_.parent_is_written(*this);
}

bool ImageRecording::has_written_until(std::uint64_t stamp) {
  if (failure_ || finished()) return true;
  leave_memory();
  drain(DrainDepth::Everything);
  const std::optional<std::uint64_t>& end = segments_.cut.stamp();
  return !end || *end > stamp;
}

bool ImageRecording::put_counters() {
  ProcessInfo& info = record_.info;
  if (!spool_->file().update(info)) return false;
  info.folded = streams_->folded();
  if (!segments_.cut.wanted()) return true;
  ProcessInfo& counted = segments_.counted;
  const ProcessInfo all = info;
  info.dropped_events -= counted.dropped_events;
  info.truncated_stacks -= counted.truncated_stacks;
  info.unwind_failures -= counted.unwind_failures;
  info.nested_events -= counted.nested_events;
  info.unwind_gaps = difference(all.unwind_gaps, counted.unwind_gaps);
  counted = all;
  return true;
}

// The file so far becomes a complete trace. Returns the state with which the next segment begins.
Result<ImageRecording::NextSegment> ImageRecording::end_segment() {
  const std::uint64_t stamp = *segments_.cut.stamp();
  const bool is_exact = summary_.is_exact() && segments_.cut.is_settled();
  std::vector<ClockPair> pairs(clock_pairs_.all().begin(), clock_pairs_.all().end());
  pairs.push_back({std::max(stamp_now(), stamp), trace::monotonic_ns()});
  NextSegment next;
  next.begin = {stamp, pairs.front().monotonic_ns + Clock(pairs).ns(stamp)};
  const std::uint32_t number = record_.info.segment->number;
  const SegmentSums before = record_.info.segment->before;
  next.segment.number = number + 1;
  next.segment.stamp = stamp;
  for (ThreadStream& stream : streams_->all()) {
    pack_until(stream, stamp);
    const EventBuffer& beyond = stream.packer.pending;
    const std::uint64_t made = stream.packer.packed_events;
    const std::uint64_t last = beyond.empty() ? stream.packer.decode.last_stamp : beyond[0].stamp;
    if (made != 0) next.segment.positions.push_back({stream.packer.thread, made, last});
    record_.spool_events += made;
  }
  for (const ThreadPosition& at : record_.info.segment->positions) record_.spool_events -= at.made_events;
  record_.thread_count = static_cast<std::uint32_t>(streams_->all().size());
  std::erase_if(pairs, [&](const ClockPair& pair) { return pair.stamp >= stamp; });
  pairs.push_back(next.begin);
  if (is_exact) {
    FusedReplay& replay = *summary_.replay();
    next.live = replay.replay().live_set();
    next.segment.before = sums_after(before, replay.tables_so_far(pairs)["process"]);
  }
  write_snapshots();
  put_counters();
  put_last_names();
  output_.append().put_clock(clock_pairs_.take_unwritten(stamp));
  output_.append().put_clock({&next.begin, 1});
  write_out();
  if (failure_) return *failure_;
  ProcessRecord record = record_;
  record.info.segment->continued = true;
  output_.append().put_end(record);
  write_out();
  if (failure_) return *failure_;
  if (is_exact) return next;
  // A forked child's inheritance is in its parent's trace, and threads too far apart are merged from the file: a second
  // per ten million events.
  Result<OpenedTrace> opened = open_trace(trace_path());
  if (!opened) return opened.error();
  const std::optional<LiveSet> earlier = inherited_blocks(trace_path(), *opened, {}, warnings_.all());
  Replay replay(opened->dictionary(), opened->info(), {});
  if (earlier) replay.inherit(*earlier);
  if (Status read = opened->replay_into(replay); !read) return read.error();
  next.live = replay.live_set();
  next.segment.before = sums_after(before, replay.finish(opened->clock_pairs())["process"]);
  return next;
}

void ImageRecording::begin_segment(NextSegment next) {
  Renumbering renumbering(dictionary_);
  for (ThreadStream& stream : streams_->all()) {
    EventBuffer& beyond = stream.packer.pending;
    for (std::size_t at = 0; at < beyond.size(); ++at) renumbering.renumber(beyond[at]);
    stream.packer.decode.stack = renumbering.stack(stream.packer.decode.stack);
  }
  const bool has_replay = summary_.replay() != nullptr;
  summary_.stop_replay();  // it refers to the dictionary
  dictionary_ = renumbering.take();
  streams_->renew_decoder();
  segments_.cut.close(output_.file_bytes(), record_.event_count);
  const std::uint32_t closed = record_.info.segment->number;
  const std::uint64_t stamp = next.begin.stamp;
  const std::string next_path = trace_path() + kNewSuffix;
  if (const Status begun = output_.begin_next(next_path, [this] { return make_room(); }); !begun) {
    return fail(begun.error());
  }
  record_.info.segment = std::move(next.segment);
  record_.event_count = record_.spool_events = 0;
  record_.info.moments = 0;
  record_.info.reading.reset();
  readings_ = ReadingSchedule(monotonic_ns());
  clock_pairs_.begin_segment(next.begin);
  TraceWriter& writer = output_.append();
  writer.put_process(record_);
  writer.put_live(next.live);
  writer.put_clock(clock_pairs_.take_unwritten(stamp + 1));
  write_out();
  segments_.cut.begin(output_.file_bytes());
  if (failure_) return;
  if (const Status named = segments_.files.close(trace_path(), closed, next_path); !named) return fail(named.error());
  output_.take_name_of_last();
  if (segments_.cut.has_large_head()) {
    warnings_.add_once(ImageWarnings::Once::LargeHead,
                       "the live blocks alone take " + std::to_string(segments_.cut.head_bytes() >> 10) +
                           " KiB of a segment of " + trace_path() + ": segments are larger than --max-size");
  }
  if (has_replay) {
    summary_.begin_replay(dictionary_, record_.info, expected_threads());
    summary_.replay()->inherit(next.live);
    for (const ThreadStream& stream : streams_->all()) summary_.add(stream.packer.thread, stream.packer.pending);
  }
  summary_.set_knows_earlier();
}

LiveSummary::Threads ImageRecording::expected_threads() {
  const bool are_expected = segments_.cut.wanted() || spool_->table_counts().threads > 1;
  return are_expected ? LiveSummary::Threads::Expected : LiveSummary::Threads::Unknown;
}

void ImageRecording::close_segment() {
  Result<NextSegment> next = end_segment();
  if (next) {
    begin_segment(*std::move(next));
  } else if (!failure_) {
    fail(next.error());
  }
  segments_.cut.clear();
}

bool ImageRecording::make_room() {
  if (!segments_.files.give_up_oldest()) return false;
  warnings_.add_once(ImageWarnings::Once::FullDisk, "the disk was full: older segments of " + trace_path() +
                                                        " were deleted before --rotate asked for it");
  return true;
}

}  // namespace tare::core
