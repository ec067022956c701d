// The limit on disk of a recording by samples: how often the distance between samples must double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tare::core {

class DiskBudget {
 public:
  // 0: no limit. A part is kept for what traces get at their end: the ends of samples, and names.
  explicit DiskBudget(std::uint64_t most_bytes)
      : most_bytes_(most_bytes - most_bytes / 8 - std::min(most_bytes / 8, kLastBytes)) {}
  bool is_given() const { return most_bytes_ != 0; }
  // Events of a thread that may wait for a block of the trace: a sixteenth of the room, but no more than usual.
  std::size_t block_events() const;

  // `written_bytes`: of all traces so far, with `written_events`. `waiting_events` will be written.
  void look(std::uint64_t written_bytes, std::uint64_t written_events, std::uint64_t waiting_events);
  // One for each eighth of the room that was left. So the first lasts until an eighth is used, and each of the
  // next 1.75 times as long as the one before.
  std::uint32_t doublings() const { return doublings_; }
  bool is_full() const { return is_full_; }

 private:
  static constexpr std::uint64_t kBytesOfEvent = 16;     // until some are written
  static constexpr std::uint64_t kLastBytes = 64 << 10;  // a chunk of events, and names, of a Python program

  std::uint64_t most_bytes_;
  std::uint32_t doublings_ = 0;
  bool is_full_ = false;
};

}  // namespace tare::core
