// Merging blocks from a file: see block_merger.h.
#include "trace/open/block_merger.h"

#include <algorithm>
#include <map>
#include <span>

namespace tare::trace {

namespace {

constexpr std::size_t kBatchEvents = 4096;
constexpr std::uint64_t kEventsToCheck = 4 * kBatchEvents;

}  // namespace

void BlockMerger::add(const BlockHeader& header) {
  const auto [entry, is_new] =
      stream_of_thread_.try_emplace(header.thread, static_cast<std::uint32_t>(streams_.size()));
  if (is_new) streams_.emplace_back();
  Stream& stream = streams_[entry->second];
  // Stamps never decrease within a thread. In a damaged file they may, and then the order would depend on the ends of
  // blocks.
  std::uint64_t first_stamp = header.first_stamp;
  if (!stream.blocks.empty()) first_stamp = std::max(first_stamp, stream.blocks.back().second);
  stream.blocks.emplace_back(blocks_++, first_stamp);
  total_events_ += header.event_count;
}

Status BlockMerger::load(Stream& stream) {
  stream.events.clear();
  stream.at = 0;
  if (check_) {
    if (Status status = check_(); !status) return status;
  }
  return read_(stream.blocks[stream.next_block++].first, decoder_, stream.events);
}

Status BlockMerger::run(EventSink& sink, const ReplayProgress& progress) {
  // Ties go by thread, so that streams must be numbered by it.
  MergeHeap heap;
  std::vector<Stream*> by_rank;
  for (const auto& [thread, stream] : stream_of_thread_) by_rank.push_back(&streams_[stream]);
  for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank) heap.push({by_rank[rank]->blocks.front().second, rank});

  std::vector<Event> batch;
  batch.reserve(kBatchEvents);
  std::uint64_t done = 0;
  std::uint64_t next_check = kEventsToCheck;
  const auto hand_out = [&](std::span<const Event> events) {
    if (events.empty()) return;
    sink.consume(events);
    done += events.size();
    if (progress) progress(done, total_events_);
  };
  while (!heap.empty()) {
    const std::uint32_t rank = heap.top().stream;
    Stream& stream = *by_rank[rank];
    if (stream.at == stream.events.size()) {
      if (Status status = load(stream); !status) {
        hand_out(batch);
        return status;
      }
      if (!stream.events.empty()) {
        heap.replace_top({stream.events[0].stamp, rank});
        continue;  // the block may begin later than in its header
      }
    }
    const MergeKey second = heap.second();
    const std::size_t start = stream.at;
    std::size_t end = start;
    const std::size_t size = stream.events.size();
    while (end < size && MergeKey{stream.events[end].stamp, rank} < second) ++end;
    const std::span<const Event> run{stream.events.data() + start, end - start};
    if (run.size() >= kBatchEvents / 4) {
      hand_out(batch);
      batch.clear();
      for (std::size_t at = 0; at < run.size(); at += kBatchEvents) {
        hand_out(run.subspan(at, std::min(kBatchEvents, run.size() - at)));
      }
    } else {
      if (batch.size() + run.size() > kBatchEvents) {
        hand_out(batch);
        batch.clear();
      }
      batch.insert(batch.end(), run.begin(), run.end());
    }
    stream.at = end;
    if (done >= next_check && check_) {
      next_check = done + kEventsToCheck;
      if (Status status = check_(); !status) return status;
    }
    if (end < size) {
      heap.replace_top({stream.events[end].stamp, rank});
    } else if (stream.next_block < stream.blocks.size()) {
      heap.replace_top({stream.blocks[stream.next_block].second, rank});
    } else {
      stream.events.reset();
      heap.pop();
    }
  }
  hand_out(batch);
  return ok();
}

}  // namespace tare::trace
