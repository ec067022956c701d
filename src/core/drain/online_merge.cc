// Merging while recording: see online_merge.h.
#include "core/drain/online_merge.h"

#include <algorithm>

namespace tare::core {

using trace::Event;
using trace::MergeKey;

namespace {

constexpr std::size_t kBatchEvents = 4096;

}  // namespace

OnlineMerge::Stream& OnlineMerge::stream_of(std::uint32_t thread) {
  if (thread >= position_.size()) position_.resize(thread + 1, kNone);
  if (position_[thread] == kNone) {
    position_[thread] = static_cast<std::uint32_t>(streams_.size());
    streams_.emplace_back().thread = thread;
    threads_ = threads_ || streams_.size() > 1;
  }
  return streams_[position_[thread]];
}

void OnlineMerge::append(std::uint32_t thread, std::span<const Event> events) {
  if (thread >= kMostThreads) gave_up_ = true;
  if (!sound()) return;
  Stream& stream = stream_of(thread);
  if (events.empty()) return;
  for (const Event& event : events) {
    if (!(MergeKey{event.stamp, thread} < floor_)) break;  // stamps ascend within a thread
    ++late_events_;
  }
  if (late_events_ != 0) return;
  if (!threads_) {
    sink_->consume(events);
    floor_ = {events.back().stamp, thread};
    return;
  }
  if (stream.watermark == kEnded) stream.watermark = events.front().stamp;
  stream.events.insert(stream.events.end(), events.begin(), events.end());
  pending_ += events.size();
}

void OnlineMerge::set_watermark(std::uint32_t thread, std::uint64_t stamp) {
  if (!sound()) return;
  Stream& stream = stream_of(thread);
  stream.watermark = std::max(stream.watermark, stamp);
}

void OnlineMerge::flush() {
  if (!batch_.empty()) sink_->consume(batch_);
  batch_.clear();
}

void OnlineMerge::hand_out(std::uint64_t limit) {
  heap_.clear();
  for (Stream& stream : streams_) {
    if (stream.at < stream.events.size() && stream.events[stream.at].stamp < limit) {
      heap_.push({stream.events[stream.at].stamp, stream.thread});
    }
  }
  while (!heap_.empty()) {
    Stream& stream = streams_[position_[heap_.top().stream]];
    const std::uint32_t thread = stream.thread;
    const MergeKey second = std::min(heap_.second(), MergeKey{limit, 0});
    std::size_t end = stream.at;
    const std::size_t size = stream.events.size();
    while (end < size && MergeKey{stream.events[end].stamp, thread} < second) ++end;
    const std::span<const Event> run{stream.events.data() + stream.at, end - stream.at};
    if (batch_.size() + run.size() > kBatchEvents) flush();
    if (run.size() > kBatchEvents) {
      sink_->consume(run);
    } else {
      batch_.insert(batch_.end(), run.begin(), run.end());
    }
    pending_ -= run.size();
    stream.at = end;
    if (end < size && stream.events[end].stamp < limit) {
      heap_.replace_top({stream.events[end].stamp, thread});
    } else {
      heap_.pop();
    }
  }
  flush();
}

void OnlineMerge::advance(std::uint64_t newcomers) {
  if (!sound() || !threads_) return;
  std::uint64_t limit = std::min(newcomers, ceiling_);
  for (const Stream& stream : streams_) limit = std::min(limit, stream.watermark);
  if (MergeKey{limit, 0} < floor_) return;
  hand_out(limit);
  floor_ = std::max(floor_, MergeKey{limit, 0});
  for (std::size_t i = 0; i < streams_.size();) {
    Stream& stream = streams_[i];
    if (stream.at == stream.events.size()) {
      stream.events.clear();
      stream.at = 0;
    } else if (stream.at > stream.events.size() / 2) {
      stream.events.erase(stream.events.begin(), stream.events.begin() + static_cast<std::ptrdiff_t>(stream.at));
      stream.at = 0;
    }
    if (stream.watermark == kEnded && stream.events.empty()) {
      position_[stream.thread] = kNone;
      if (i + 1 < streams_.size()) {
        position_[streams_.back().thread] = static_cast<std::uint32_t>(i);
        std::swap(stream, streams_.back());
      }
      streams_.pop_back();
      continue;
    }
    ++i;
  }
  if (pending_ > kMostPending) {
    gave_up_ = true;
    streams_.clear();
  }
}

void OnlineMerge::finish() {
  if (!sound()) return;
  hand_out(kEnded);
}

}  // namespace tare::core
