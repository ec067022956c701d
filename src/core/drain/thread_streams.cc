// Chunks to events, thread by thread: see thread_streams.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/thread_streams.h"

#include <algorithm>

#include "core/drain/online_merge.h"
#include "trace/base/clock_ns.h"
#include "trace/model/spool_event_count.h"

namespace tare::core {

using namespace trace;

namespace {

constexpr std::uint64_t kLongestChunkWaitNs = 2'000'000'000;

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

}  // namespace

bool ThreadStream::is_waiting_for_chunk() const {
  return queue.empty() && waits_since_ns != 0 && monotonic_ns() - waits_since_ns < kLongestChunkWaitNs;
}

std::uint64_t ThreadStream::watermark(std::uint64_t settled) const {
  if (over && queue.empty()) return OnlineMerge::kEnded;
  // A thread without an open chunk stamps its next event after opening one, which is after now. Events of its signal
  // handlers may be older, if they came while its hook waited for the chunk.
  const bool is_idle = queue.empty() ? !is_waiting_for_chunk() : in_chunk && idle;
  return is_idle ? std::max(packer.decode.last_stamp, settled) : packer.decode.last_stamp;
}

std::size_t ThreadStream::events_before(std::uint64_t stamp, const Dictionary& dictionary) const {
  const EventBuffer& pending = packer.pending;
  if (pending.empty() || pending.back().stamp < stamp) return pending.size();
  const Event* const begin = pending.data();
  const auto is_before = [&](const Event& event) { return event.stamp < stamp; };
  auto count = static_cast<std::size_t>(std::partition_point(begin, begin + pending.size(), is_before) - begin);
  while (count > 0 && leads_to_next(begin[count - 1], dictionary)) --count;
  return count;
}

// Blocks of a size that readers take: a thread that another held back has more.
std::size_t ThreadStream::events_of_block(std::size_t count, const Dictionary& dictionary) const {
  if (count <= kBlockEvents) return count;
  count = kBlockEvents;
  while (count > 1 && leads_to_next(packer.pending[count - 1], dictionary)) --count;
  return count;
}

std::uint64_t ThreadStream::spool_events_until(std::size_t count, const Dictionary& dictionary) const {
  if (count >= packer.pending.size()) return packer.decode.spool_events;
  std::uint64_t made = packer.packed_events;
  for (std::size_t at = 0; at < count; ++at) made += counts_as_spool_event(packer.pending[at], dictionary);
  return made;
}

ThreadStreams::ThreadStreams(LiveSpool& spool, Dictionary& dictionary) : spool_(spool), dictionary_(dictionary) {
  renew_decoder();
}

void ThreadStreams::renew_decoder() {
  decoder_ =
      std::make_unique<SpoolDecoder>(dictionary_, [this](StringRef ref) { return spool_.file().string_at(ref); });
}

void ThreadStreams::find_chunks() {
  const std::uint32_t count = spool_.chunk_count();
  chunks_.expect(count);
  std::size_t in_use = 0;
  for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
    in_use += chunks_.is_found(chunk);
    if (chunks_.is_found(chunk)) continue;
    const ChunkControl& control = spool_.control(chunk);
    const ChunkState state = control.state.load(std::memory_order_acquire);
    if (state != ChunkState::Open && state != ChunkState::Full) continue;
    if (control.thread >= OnlineMerge::kMostThreads) continue;
    chunks_.add(chunk);
    ++in_use;
    while (streams_.size() <= control.thread) {
      ThreadStream& stream = streams_.emplace_back();
      stream.packer.thread = static_cast<std::uint32_t>(streams_.size() - 1);
      stream.packer.decode.thread = static_cast<std::uint16_t>(stream.packer.thread);
    }
    std::vector<ThreadStream::Chunk>& queue = streams_[control.thread].queue;
    const ThreadStream::Chunk found{control.thread_chunk, chunk};
    const auto is_earlier = [](const ThreadStream::Chunk& a, const ThreadStream::Chunk& b) {
      return a.serial < b.serial;
    };
    queue.insert(std::upper_bound(queue.begin(), queue.end(), found, is_earlier), found);
  }
  chunks_.note_in_use(in_use);
}

std::uint64_t ThreadStreams::begin_chunk(ThreadStream& stream) {
  const ChunkControl& control = front(stream);
  ThreadDecodeState& decode = stream.packer.decode;
  std::uint64_t lost = 0;
  if (control.first_event > decode.spool_events) {
    lost = control.first_event - decode.spool_events;
    stream.packer.pending.push_back({decode.last_stamp, lost, kNoShape, decode.thread, EventKind::Dropped, 0});
  }
  const bool is_first_pending = stream.packer.pending.empty();
  decode.open_chunk(std::max(control.first_event, decode.spool_events), control.open_stamp);
  if (is_first_pending) stream.packer.first_chunk = control.thread_chunk;
  stream.packer.last_chunk = control.thread_chunk;
  stream.in_chunk = true;
  stream.waits_since_ns = 0;
  stream.tid = control.tid;
  stream.damaged = false;
  return lost;
}

bool ThreadStreams::is_full(const ThreadStream& stream) const {
  return front(stream).state.load(std::memory_order_acquire) == ChunkState::Full;
}

Result<ThreadStreams::Decoded> ThreadStreams::decode_chunk(ThreadStream& stream, bool is_full) {
  const ChunkControl& control = front(stream);
  const std::uint32_t chunk = stream.queue.front().index;
  // Read before the events: an event that isn't committed now begins, and is stamped, later.
  stream.idle = is_full || control.busy.load(std::memory_order_acquire) == 0;
  const std::uint64_t committed_words =
      std::min<std::uint64_t>(control.committed.load(std::memory_order_acquire), kChunkBytes) / 8;
  const SpoolCounts tables = spool_.table_counts();
  ThreadDecodeState& decode = stream.packer.decode;
  Decoded decoded;
  if (committed_words <= decode.words_done || stream.damaged) return decoded;
  std::span<const std::uint64_t> words;
  Status status = spool_.file().grow(tables, dictionary_);
  if (const std::uint64_t* const mapped = spool_.words(chunk)) {
    words = {mapped + decode.words_done, mapped + committed_words};
  } else if (status) {
    status = spool_.file().read_words(chunk, decode.words_done, committed_words - decode.words_done, words_);
    words = words_;
  }
  decoded.is_spool_cut = spool_.is_cut();
  if (decoded.is_spool_cut) return decoded;
  if (!status) return status.error();
  EventBuffer& pending = stream.packer.pending;
  const std::size_t before = pending.size();
  decoded.damage = decoder_->decode(decode, words, pending);
  decoded.is_spool_cut = spool_.is_cut();
  if (decoded.is_spool_cut) {
    pending.set_end(pending.data() + before);
    return decoded;
  }
  if (decoded.damage) stream.damaged = true;
  decoded.events = pending.size() - before;
  if (decoded.events > 0) stream.over = pending.back().kind == EventKind::ThreadEnd;
  return decoded;
}

void ThreadStreams::end_chunk(ThreadStream& stream, bool is_full) {
  const ThreadStream::Chunk chunk = stream.queue.front();
  if (is_full) {
    if (front(stream).busy.load(std::memory_order_relaxed) != 0) stream.waits_since_ns = monotonic_ns();
    spool_.hold(chunk.index);
    stream.held.push_back({chunk.index, stream.packer.decode.spool_events});
    chunks_.hold();
  }
  stream.queue.erase(stream.queue.begin());
  stream.next_serial = chunk.serial + 1;
  stream.in_chunk = false;
}

void ThreadStreams::mark_written(ThreadStream& stream, std::uint64_t spool_events) {
  std::size_t done = 0;
  while (done < stream.held.size() && stream.held[done].spool_events <= spool_events) {
    chunks_.mark_written(stream.held[done++].index);
  }
  stream.held.erase(stream.held.begin(), stream.held.begin() + static_cast<std::ptrdiff_t>(done));
}

void ThreadStreams::release_written() {
  chunks_.release_written([this](std::uint32_t chunk) { spool_.give_back(chunk); });
}

void ThreadStreams::discard_all() {
  const std::uint32_t count = spool_.chunk_count();
  chunks_.expect(count);
  for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
    const ChunkState state = spool_.control(chunk).state.load(std::memory_order_acquire);
    if (state == ChunkState::Full) spool_.hold(chunk);
    if (state == ChunkState::Full || state == ChunkState::Held) spool_.give_back(chunk);
  }
}

bool ThreadStreams::is_inside_hook(const ThreadStream& stream) const {
  if (stream.queue.empty()) return stream.is_waiting_for_chunk();
  return front(stream).busy.load(std::memory_order_acquire) != 0;
}

std::uint32_t ThreadStreams::tid_of(const ThreadStream& stream) const {
  return stream.queue.empty() ? stream.tid : front(stream).tid;
}

}  // namespace tare::core
