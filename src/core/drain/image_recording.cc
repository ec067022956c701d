// From a spool into a trace: see image_recording.h.
#include "core/drain/image_recording.h"

#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/base/process_files.h"

namespace tare::core {

using namespace trace;

namespace {

// The next stamp of a thread outside hooks is later than now, within this margin: the delay of a store buffer,
// differences between the clocks of cores, and the 0.5 ms for which a stamp is reused.
constexpr std::uint64_t kMarginTicks = 4'000'000;
constexpr std::uint64_t kMarginNs = 1'000'000;
constexpr std::uint64_t kLongestChunkWaitNs = 2'000'000'000;
constexpr int kChunksPerPass = 16;                 // of a thread, before others and the merge have their turn
constexpr std::uint64_t kYoungNs = 5'000'000'000;  // older processes have a file that can be read
constexpr std::size_t kMostHeld = 256;             // chunks; a quarter of a program's limit
constexpr std::size_t kLeastKept = 16;             // chunks that stay when a spool is trimmed

}  // namespace

Result<std::unique_ptr<ImageRecording>> ImageRecording::create(LiveSpool spool, pid_t process,
                                                               const std::string& trace_path, Summarize summarize,
                                                               EventBlockEncoder& encoder, TakeSnapshots snapshots,
                                                               FirstPlace place, const SegmentLimits& limits) {
  Result<ProcessInfo> info = spool.file().process();
  if (!info) return info.error();
  std::unique_ptr<ImageRecording> image(new ImageRecording(std::move(spool), encoder));
  image->process_ = process;
  image->trace_path_ = trace_path;
  image->record_.info = std::move(*info);
  if (process != 0) image->record_.info.pid = static_cast<std::uint32_t>(process);
  image->record_.spool_path = image->spool_->file().path();
  image->clock_pairs_.begin(image->spool_->file().start());
  // A forked child's summary begins with its parent's blocks, which are only known when the parent's trace is.
  // Without them its replay serves snapshots only.
  image->snapshots_ = SnapshotSchedule(snapshots);
  image->knows_earlier_ = !image->record_.info.fork;
  image->cut_ = SegmentCut(limits);
  image->segments_ = SegmentFiles(limits.keep);
  if (limits.wanted()) image->record_.info.segment.emplace();
  if (summarize == Summarize::WhileRecording && image->knows_earlier_) image->summary_ = Summary::Wanted;
  if (image->summary_ == Summary::Wanted || image->snapshots_.wanted() || limits.wanted()) {
    if (place == FirstPlace::Memory) {
      image->early_.wait();
    } else {
      image->make_replay();
    }
  }
  image->begin_ns_ = monotonic_ns();
  image->readings_ = ReadingSchedule(image->begin_ns_);
  image->begin_trace(place);
  return image;
}

// The file at the trace's path so far contains only the path of the spool, for the case that the launcher is killed. It
// is replaced atomically by a file that contains that path too.
void ImageRecording::begin_trace(FirstPlace place) {
  if (place == FirstPlace::Memory) {
    writer_.emplace(TraceWriter::in_memory(trace_path_));
    writer_->put_process(record_);
    return;
  }
  struct stat before;
  const bool replaces = ::lstat(trace_path_.c_str(), &before) == 0 && S_ISREG(before.st_mode);
  const std::string path = replaces ? trace_path_ + ".new" : trace_path_;
  Result<TraceWriter> writer = TraceWriter::create(path);
  if (writer) {
    writer_.emplace(std::move(*writer));
    writer_->on_full_disk([this] { return make_room(); });
    writer_->put_process(record_);
    something_packed_ = true;
    write_out();
  } else {
    failure_ = writer.error();
  }
  if (!replaces) return;
  if (!failure_ && ::rename(path.c_str(), trace_path_.c_str()) == 0) {
    writer_->renamed(trace_path_);
    return;
  }
  if (!failure_) {
    failure_ = Error{ErrorKind::Io, "cannot write the trace " + trace_path_ + ": " + std::strerror(errno) +
                                        "; choose another place with -o"};
  }
  ::unlink(path.c_str());
  ::unlink(trace_path_.c_str());
}

ImageRecording::ImageRecording(LiveSpool spool, EventBlockEncoder& encoder)
    : spool_(std::move(spool)),
      encoder_(encoder),
      decoder_(std::make_unique<SpoolDecoder>(dictionary_,
                                              [this](StringRef ref) { return spool_->file().string_at(ref); })) {}

ImageRecording::~ImageRecording() = default;

std::uint64_t ImageRecording::stamp_now() const { return spool_->file().stamps_are_ns() ? monotonic_ns() : __rdtsc(); }

void ImageRecording::find_chunks() {
  const std::uint32_t count = spool_->chunk_count();
  chunks_.expect(count);
  std::size_t in_use = 0;
  for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
    in_use += chunks_.is_found(chunk);
    if (chunks_.is_found(chunk)) continue;
    const ChunkControl& control = spool_->control(chunk);
    const ChunkState state = control.state.load(std::memory_order_acquire);
    if (state != ChunkState::Open && state != ChunkState::Full) continue;
    if (control.thread >= OnlineMerge::kMostThreads) continue;
    chunks_.add(chunk);
    ++in_use;
    while (streams_.size() <= control.thread) {
      Stream& stream = streams_.emplace_back();
      stream.packer.thread = static_cast<std::uint32_t>(streams_.size() - 1);
      stream.packer.decode.thread = static_cast<std::uint16_t>(stream.packer.thread);
    }
    std::vector<Chunk>& queue = streams_[control.thread].queue;
    const Chunk found{control.thread_chunk, chunk};
    queue.insert(std::upper_bound(queue.begin(), queue.end(), found,
                                  [](const Chunk& a, const Chunk& b) { return a.serial < b.serial; }),
                 found);
  }
  chunks_.note_in_use(in_use);
}

void ImageRecording::begin_chunk(Stream& stream, const ChunkControl& control) {
  ThreadDecodeState& decode = stream.packer.decode;
  const bool was_lost = control.first_event > decode.spool_events;
  if (was_lost) {
    const std::uint64_t lost = control.first_event - decode.spool_events;
    stream.packer.pending.push_back({decode.last_stamp, lost, kNoShape, decode.thread, EventKind::Dropped, 0});
    hand_to_replay(stream, {&stream.packer.pending.back(), 1});
    warnings_.push_back(std::to_string(lost) + " events of thread " + std::to_string(stream.packer.thread) +
                        " of process " + std::to_string(record_.info.pid) +
                        " were lost; what follows them is recorded");
  }
  decode.open_chunk(std::max(control.first_event, decode.spool_events), control.open_stamp);
  if (stream.packer.pending.empty()) stream.packer.first_chunk = control.thread_chunk;
  stream.packer.last_chunk = control.thread_chunk;
  stream.in_chunk = true;
  stream.waits_since_ns = 0;
  stream.tid = control.tid;
  stream.damaged = false;
  // Lost events count in the position of the thread, so no segment may end among them.
  if (cut_.wanted() && was_lost) pack_front(stream, stream.packer.pending.size(), decode.spool_events);
  clock_pairs_.offer({control.open_stamp, control.open_monotonic_ns});
}

bool ImageRecording::decode_front(Stream& stream, DrainDepth depth, DrainCounts& counts) {
  const Chunk front = stream.queue.front();
  const ChunkControl& control = spool_->control(front.index);
  if (!stream.in_chunk) {
    // It was opened during the search: next time.
    if (front.serial != stream.next_serial && !gaps_are_final_) return false;
    begin_chunk(stream, control);
  }
  const bool full = control.state.load(std::memory_order_acquire) == ChunkState::Full;
  const bool whole = full || cut_.stamp() || snapshots_.wanted() || spool_->table_counts().threads >= 2;
  if (!whole && depth == DrainDepth::Usual) return false;
  // Read before the events: an event that isn't committed now begins, and is stamped, later.
  stream.idle = full || control.busy.load(std::memory_order_acquire) == 0;
  const std::uint64_t committed_words =
      std::min<std::uint64_t>(control.committed.load(std::memory_order_acquire), kChunkBytes) / 8;
  const SpoolCounts tables = spool_->table_counts();
  ThreadDecodeState& decode = stream.packer.decode;
  if (committed_words > decode.words_done && !stream.damaged) {
    std::span<const std::uint64_t> words;
    Status status = spool_->file().grow(tables, dictionary_);
    if (const std::uint64_t* const mapped = spool_->words(front.index)) {
      words = {mapped + decode.words_done, mapped + committed_words};
    } else if (status) {
      status = spool_->file().read_words(front.index, decode.words_done, committed_words - decode.words_done, words_);
      words = words_;
    }
    if (is_cut()) return false;
    if (!status) {
      failure_ = status.error();
      return false;
    }
    EventBuffer& pending = stream.packer.pending;
    const std::size_t before = pending.size();
    const ChunkDamage damage = decoder_->decode(decode, words, pending);
    if (is_cut()) {
      pending.set_end(pending.data() + before);
      return false;
    }
    if (damage) {
      stream.damaged = true;
      warnings_.push_back("process " + std::to_string(record_.info.pid) + " wrote over its own recording (" +
                          damage.what + "); up to 64 KiB of events are missing");
    }
    counts.events += pending.size() - before;
    if (pending.size() > before) stream.over = pending.back().kind == EventKind::ThreadEnd;
    // Read after the events: the first event of a thread that is counted later has a later stamp.
    if (replay_ && spool_->table_counts().threads > 1) replay_->merge().expect_threads();
    hand_to_replay(stream, {pending.data() + before, pending.size() - before});
  }
  if (!full) {
    if (!gaps_are_final_) return false;
  } else {
    if (control.busy.load(std::memory_order_relaxed) != 0) stream.waits_since_ns = monotonic_ns();
    spool_->hold(front.index);
    stream.held.push_back({front.index, stream.packer.decode.spool_events});
    chunks_.hold();
  }
  ++counts.chunks;
  stream.queue.erase(stream.queue.begin());
  stream.next_serial = front.serial + 1;
  stream.in_chunk = false;
  return true;
}

void ImageRecording::pack(Stream& stream) {
  if (cut_.wanted()) {
    return pack_until(stream, is_held_back() ? OnlineMerge::kEnded : cut_.stamp().value_or(cut_.settled_stamp()));
  }
  pack_front(stream, stream.packer.pending.size(), stream.packer.decode.spool_events);
}

// `spool_events`: of the thread, up to the last of so many pending events.
void ImageRecording::pack_front(Stream& stream, std::size_t count, std::uint64_t spool_events) {
  if (count == 0) return;
  const auto events = std::span<const Event>(stream.packer.pending).first(count);
  record_.event_count += count;
  for (const Event& event : events) {
    calls_ += event.kind < EventKind::ThreadStart && event.kind != EventKind::ReallocEnd;
  }
  stream.packed_stamp = events.back().stamp;
  const std::span<const std::uint8_t> payload =
      stream.packer.pack_front(encoder_, dictionary_, used_shapes_, count, spool_events);
  writer_->put_growth(dictionary_);
  // A segment may end right behind these events.
  writer_->put_clock(cut_.wanted() ? clock_pairs_.take_unwritten(stream.packed_stamp + 1)
                                   : clock_pairs_.take_unwritten());
  writer_->put_events(payload);
  std::size_t done = 0;
  while (done < stream.held.size() && stream.held[done].spool_events <= spool_events) {
    chunks_.mark_written(stream.held[done++].index);
  }
  stream.held.erase(stream.held.begin(), stream.held.begin() + static_cast<std::ptrdiff_t>(done));
  something_packed_ = true;
  if (stream.over && stream.packer.pending.empty()) stream.packer.pending.reset();
}

void ImageRecording::write_out() {
  if (!something_packed_ || may_stay_in_memory()) return;
  if (writer_->is_in_memory()) return leave_memory();
  something_packed_ = false;
  if (Status status = writer_->flush(); !status) {
    failure_ = status.error();
    replay_.reset();
  }
  chunks_.release_written([this](std::uint32_t chunk) { spool_->give_back(chunk); });
}

// A hook drops its event if no chunk comes in a second, and then the thread may make none for long.
bool ImageRecording::is_waiting_for_chunk(const Stream& stream) const {
  return stream.queue.empty() && stream.waits_since_ns != 0 &&
         monotonic_ns() - stream.waits_since_ns < kLongestChunkWaitNs;
}

void ImageRecording::advance_merge(std::uint64_t now) {
  const std::uint64_t margin = spool_->file().stamps_are_ns() ? kMarginNs : kMarginTicks;
  const std::uint64_t settled = gaps_are_final_ ? OnlineMerge::kEnded : now > margin ? now - margin : 0;
  std::uint64_t lowest = settled;
  for (const Stream& stream : streams_) {
    // A thread without an open chunk stamps its next event after opening one, which is after now. Events of its signal
    // handlers may be older, if they came while its hook waited for the chunk.
    const bool idle = stream.queue.empty() ? !is_waiting_for_chunk(stream) : stream.in_chunk && stream.idle;
    std::uint64_t watermark = stream.packer.decode.last_stamp;
    if (idle) watermark = std::max(watermark, settled);
    if (stream.over && stream.queue.empty()) watermark = OnlineMerge::kEnded;
    lowest = std::min(lowest, watermark);
    if (replay_) replay_->merge().set_watermark(stream.packer.thread, watermark);
  }
  // After find_chunks() a thread may have opened its first chunk, and later stamps of other threads have been read
  // since.
  if (cut_.wanted()) find_boundary(lowest);
  if (replay_) replay_->merge().advance(settled);
}

// As many chunks as were in use at once since the last call are needed again. More stay where the launcher once got no
// processor for a while. A program behind a filter may be forbidden to take the memory again.
void ImageRecording::trim_spool() {
  const std::size_t most_used = chunks_.take_most_in_use();
  if (!spool_ || process_ == 0) return;
  const std::size_t keep = std::max(most_used + most_used / 4, kLeastKept);
  if (spool_->chunk_count() <= keep) return;
  const std::optional<std::string> status = read_process_file(process_, "status");
  if (status && status->find("\nSeccomp:\t0\n") != std::string::npos) spool_->trim_free(keep);
}

// The trace can't be written: the program shall not notice.
void ImageRecording::discard() {
  const std::uint32_t count = spool_->chunk_count();
  chunks_.expect(count);
  for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
    const ChunkState state = spool_->control(chunk).state.load(std::memory_order_acquire);
    if (state == ChunkState::Full) spool_->hold(chunk);
    if (state == ChunkState::Full || state == ChunkState::Held) spool_->give_back(chunk);
  }
}

bool ImageRecording::is_cut() {
  if (!spool_->is_cut()) return false;
  if (is_first(Once::Cut)) {
    warnings_.push_back("the spool of process " + std::to_string(record_.info.pid) +
                        " was truncated, by that process or another one; its recording ends there");
  }
  return true;
}

bool ImageRecording::is_first(Once warning) {
  const auto bit = static_cast<std::uint32_t>(warning);
  return (std::exchange(warned_, warned_ | bit) & bit) == 0;
}

DrainCounts ImageRecording::drain(DrainDepth depth) {
  DrainCounts counts;
  if (failure_) {
    discard();
    return counts;
  }
  if (is_cut()) return counts;
  if (depth == DrainDepth::Everything && !gaps_are_final_ && monotonic_ns() - begin_ns_ > kYoungNs) leave_memory();
  const std::uint64_t now = stamp_now();
  find_chunks();
  for (Stream& stream : streams_) {
    stream.idle = false;
    int left = kChunksPerPass;
    while (left-- > 0 && !stream.queue.empty() && decode_front(stream, depth, counts)) {
      // Each block is written and its chunks are returned at once: if the spool is full, the program waits for them.
      if (stream.packer.pending.size() >= kBlockEvents) pack(stream);
      write_out();
      if (failure_) return counts;
    }
  }
  if (depth == DrainDepth::Everything || chunks_.waiting() > kMostHeld) {
    for (Stream& stream : streams_) pack(stream);
  }
  write_out();
  if (replay_ || cut_.wanted()) advance_merge(now);
  while (boundary_is_due()) {
    close_segment();
    if (!failure_) advance_merge(now);  // the pending events may exceed one segment
  }
  return counts;
}

std::optional<Tables> ImageRecording::tables_so_far() {
  leave_memory();
  drain(DrainDepth::Everything);
  if (!replay_ || !knows_earlier_ || !replay_->merge().sound()) return std::nullopt;
  std::vector<ClockPair> pairs(clock_pairs_.all().begin(), clock_pairs_.all().end());
  pairs.push_back({stamp_now(), monotonic_ns()});
  return replay_->tables_so_far(pairs);
}

void ImageRecording::rest_descriptors(int from) {
  if (spool_ && spool_->file().holds_descriptor_from(from)) spool_->file().rest();
  if (writer_ && writer_->holds_descriptor_from(from)) writer_->rest();
}

}  // namespace tare::core
