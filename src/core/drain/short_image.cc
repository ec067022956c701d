// Images whose traces are in memory and may end up in a container: that part of image_recording.h.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/drain/image_recording.h"
#include "trace/base/file_bytes.h"

namespace tare::core {

using namespace trace;

namespace {

constexpr std::size_t kMostKept = 4;  // chunks whose events are in memory only: about 6,000 allocations
constexpr std::uint64_t kMostShortBytes = 1 << 20;

}  // namespace

bool ImageRecording::may_stay_in_memory() const {
  if (!writer_->is_in_memory() || writer_->file_bytes() > kMostShortBytes) return false;
  return gaps_are_final_ || to_give_back_.size() <= kMostKept;
}

void ImageRecording::hand_to_replay(const Stream& stream, std::span<const Event> events) {
  if (moments_.wanted() && !gaps_are_final_) begin_replay();  // a shell's child that executes a program needs none
  if (replay_) {
    replay_->merge().append(stream.packer.thread, events);
  } else if (replay_waits_ && !gaps_are_final_) {
    early_.push_back({stream.packer.thread, {events.begin(), events.end()}});
  }
}

// A short process has no summary of its own. A process that turns out to be longer gets one, computed from its first
// event; at the end it is cheaper to replay the file.
void ImageRecording::begin_replay() {
  if (!std::exchange(replay_waits_, false)) return;
  if (gaps_are_final_) {
    needs_replay_ = summarizes_;
  } else {
    make_replay();
    for (const Early& events : early_) replay_->merge().append(events.thread, events.events);
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
  if (failure_ || file_bytes_ > kMostShortBytes) return std::nullopt;
  if (record_.info.segment && record_.info.segment->number > 1) return std::nullopt;  // one of several files
  if (!finished_in_memory_.empty()) return std::move(finished_in_memory_);
  std::vector<std::uint8_t> bytes(file_bytes_);
  const int fd = open_regular(trace_path_.c_str());
  const bool whole = fd >= 0 && read_at(fd, bytes.data(), bytes.size(), 0) == static_cast<std::int64_t>(bytes.size());
  if (fd >= 0) ::close(fd);
  return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

void ImageRecording::moved(const std::string& member_path) {
  struct stat file;
  if (!was_in_memory_ && ::lstat(trace_path_.c_str(), &file) == 0 && S_ISREG(file.st_mode))
    ::unlink(trace_path_.c_str());
  trace_path_ = member_path;
  is_member_ = true;
}

void ImageRecording::keep_own_file(std::span<const std::uint8_t> trace) {
  if (!was_in_memory_) return;
  Status status = TraceWriter::write_whole(trace_path_, trace);
  if (status) return;
  failure_ = status.error();
  file_bytes_ = 0;
  struct stat file;
  if (::lstat(trace_path_.c_str(), &file) == 0 && S_ISREG(file.st_mode)) ::unlink(trace_path_.c_str());
}

}  // namespace tare::core
