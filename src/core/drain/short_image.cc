// Images whose traces are in memory and may end up in a container: that part of image_recording.h.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/drain/image_recording.h"

namespace tare::core {

using namespace trace;

namespace {

constexpr std::size_t kMostKept = 4;  // chunks whose events are in memory only: about 6,000 allocations

}  // namespace

bool ImageRecording::may_stay_in_memory() const {
  if (!writer_->is_in_memory() || writer_->file_bytes() > kMostShortBytes) return false;
  return gaps_are_final_ || chunks_.written() <= kMostKept;
}

void ImageRecording::hand_to_replay(const Stream& stream, std::span<const Event> events) {
  if (snapshots_.wanted() && !gaps_are_final_) begin_replay();  // a shell's child that executes a program needs none
  if (replay_) {
    replay_->merge().append(stream.packer.thread, events);
  } else if (early_.waits() && !gaps_are_final_) {
    early_.add(stream.packer.thread, events);
  }
}

// A short process has no summary of its own. A process that turns out to be longer gets one, computed from its first
// event; at the end it is cheaper to replay the file.
void ImageRecording::begin_replay() {
  if (!early_.stop_waiting()) return;
  if (gaps_are_final_) {
    if (summary_ == Summary::Wanted) summary_ = Summary::FromFile;
  } else {
    make_replay();
    early_.append_to(replay_->merge());
  }
  early_.clear();
}

void ImageRecording::leave_memory() {
  if (!writer_ || !writer_->is_in_memory() || failure_) return;
  begin_replay();
  if (Status status = writer_->spill(); !status) {
    failure_ = status.error();
    replay_.reset();
  }
  something_packed_ = true;
  write_out();
}

std::optional<std::vector<std::uint8_t>> ImageRecording::short_trace() {
  if (failure_) return std::nullopt;
  if (record_.info.segment && record_.info.segment->number > 1) return std::nullopt;  // one of several files
  return finished_.take_short(trace_path_);
}

void ImageRecording::moved(const std::string& member_path) {
  finished_.move_into_container(trace_path_);
  trace_path_ = member_path;
}

void ImageRecording::keep_own_file(std::span<const std::uint8_t> trace) {
  if (Status kept = finished_.keep_own_file(trace_path_, trace); !kept) failure_ = kept.error();
}

}  // namespace tare::core
