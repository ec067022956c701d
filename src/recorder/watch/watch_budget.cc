// The budget of a watch file: how much is used of it, and what follows.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/events/sampling.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

// The limits begin anew with each file: also in a forked child, whose CPU time begins at zero.
void Watch::begin_budget() {
  applied_ = looks_ = 0;
  if (budget_.is_given()) own_use_.begin();
  state_->budget = {budget_.cpu_share, budget_.memory_bytes, budget_.disk_bytes, 0, 0, 0};
  cpu_limit_.begin(budget_.cpu_share);
  spool_->set_most_file_bytes(budget_.disk_bytes);
  disk_limit_.begin(budget_.disk_bytes, spool_->file_bytes());
  memory_limit_.begin(budget_.memory_bytes, 0);
}

bool Watch::widen_for_budget(int times, trace::WatchStop reason) {
  for (; times > 0; --times) {
    if (widen_once()) continue;
    totals_.stop = static_cast<std::uint32_t>(reason);
    return false;
  }
  return true;
}

bool Watch::keep_room(RoomLimit& limit, std::uint64_t used, trace::WatchStop reason) {
  switch (limit.look(used)) {
    case RoomLimit::Verdict::Kept:
      return true;
    case RoomLimit::Verdict::Widen:
      return widen_for_budget(1, reason);
    case RoomLimit::Verdict::Exceeded:
      break;
  }
  totals_.stop = static_cast<std::uint32_t>(reason);
  return false;
}

// Called with the lock, at the end of an event. A stopped file keeps what it has.
void Watch::keep_budget() {
  trace::WatchBudget& use = state_->budget;
  const CpuUse now = own_use_.cpu();
  use.recorder_ns = static_cast<std::uint64_t>(now.own);
  use.process_ns = static_cast<std::uint64_t>(now.process);
  if (!widen_for_budget(cpu_limit_.doublings(now), trace::WatchStop::CpuBudget)) return;
  own_use_.set_usual_call(cpu_limit_.usual_ns() / kTurnsOfLook);
  const std::uint64_t file = spool_->file_bytes();
  if (!keep_room(disk_limit_, file, trace::WatchStop::DiskBudget)) return;
  if (budget_.memory_bytes == 0 || looks_++ % kLooksOfMemory != 0) return;
  use.recorder_bytes = OwnUse::resident_bytes() + file;
  keep_room(memory_limit_, use.recorder_bytes, trace::WatchStop::MemoryBudget);
}

}  // namespace tare::recorder
