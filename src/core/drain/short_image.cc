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
  if (!output_.is_in_memory() || output_.exceeds_memory()) return false;
  return gaps_are_final_ || streams_->chunks().written() <= kMostKept;
}

// A process that turns out to be longer has a summary, computed from its first event; at its end it is cheaper to
// replay the file.
void ImageRecording::begin_replay() {
  if (gaps_are_final_) {
    summary_.leave_to_file();
  } else if (summary_.waits()) {
    summary_.replay_early(dictionary_, record_.info, expected_threads());
  }
}

void ImageRecording::leave_memory() {
  if (!output_.is_in_memory() || failure_) return;
  begin_replay();
  if (const Status status = output_.leave_memory(); !status) fail(status.error());
  write_out();
}

std::optional<std::vector<std::uint8_t>> ImageRecording::short_trace() {
  if (failure_) return std::nullopt;
  if (record_.info.segment && record_.info.segment->number > 1) return std::nullopt;  // one of several files
  return output_.take_short();
}

void ImageRecording::moved(const std::string& member_path) { output_.move_into_container(member_path); }

void ImageRecording::keep_own_file(std::span<const std::uint8_t> trace) {
  if (const Status kept = output_.keep_own_file(trace); !kept) fail(kept.error());
}

}  // namespace tare::core
