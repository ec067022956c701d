// Calls of a process whose watch rests, because a launcher records it exactly.
//
// The launcher's recording is of other blocks and has other stacks. So that the watch can go on after it, samples that
// end meanwhile are dropped, and new blocks are sampled as before, without stacks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/events/record.h"

namespace tare::recorder {

// A block that the calling thread has got. The thread has a state.
void note_birth_beside_watch(const Block& block);
// Before the real call.
void note_end_beside_watch(std::uint64_t address);

// Around a realloc of `old`; failed() or done() follows.
class ReallocBesideWatch {
 public:
  explicit ReallocBesideWatch(std::uint64_t old);
  void failed() const;
  void done() const;

 private:
  std::uint64_t old_;
  std::uint64_t before_;  // stamp
  bool was_sampled_;
};

}  // namespace tare::recorder
