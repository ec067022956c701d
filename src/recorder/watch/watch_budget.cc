// The budget of a watch file: how much is used of it, and what follows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "recorder/base/address.h"
#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/events/own_cost.h"
#include "recorder/events/sampling.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

namespace {

// Pages of private memory that were touched. One caller at a time. If the program's sandbox forbids the call, all of
// the range counts.
std::uint64_t resident_bytes(std::uint64_t start, std::uint64_t bytes) {
  static unsigned char pages[4096];
  std::uint64_t resident = 0;
  while (bytes > 0) {
    const std::uint64_t part = bytes < sizeof(pages) * kPage ? bytes : sizeof(pages) * kPage;
    const std::uint64_t count = (part + kPage - 1) / kPage;
    if (sys::failed(sys::call(SYS_mincore, static_cast<long>(start), static_cast<long>(part), sys::word(pages)))) {
      resident += part;
    } else {
      for (std::uint64_t i = 0; i < count; ++i) resident += (pages[i] & 1) * kPage;
    }
    start += part;
    bytes -= part;
  }
  return resident;
}

std::uint64_t own_resident_bytes() {
  const trace::OwnRanges& own = own_ranges();
  std::uint64_t sum = 0;
  std::uint32_t count = own.count.load(std::memory_order_acquire);
  if (count > trace::OwnRanges::kMost) count = trace::OwnRanges::kMost;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = own.ranges[i].bytes.load(std::memory_order_acquire);
    if (bytes != 0) sum += resident_bytes(own.ranges[i].start, bytes);
  }
  return sum;
}

// If the CPU time can't be read, a budget of the CPU share holds for the elapsed time.
double used_ns() {
  const std::uint64_t cpu_ns = process_cpu_ns();
  return static_cast<double>(cpu_ns != 0 ? cpu_ns : monotonic_ns());
}

// A call that takes longer than so many usual ones has done more than to record a sample.
constexpr double kUnusual = 8;

}  // namespace

// The limits begin anew with each file: also in a forked child, whose CPU time begins at zero.
void Watch::begin_budget() {
  applied_ = looks_ = 0;
  own_ticks_before_ = own_cost.ticks();
  long_ns_before_ = own_cost.long_ns();
  unusual_ns_before_ = own_cost.unusual_ns();
  if (budget_.is_given()) own_cost.measure();
  process_before_ns_ = used_ns();
  begin_stamp_ = stamp();
  begin_ns_ = monotonic_ns();
  state_->budget = {budget_.cpu_share, budget_.memory_bytes, budget_.disk_bytes, 0, 0, 0};
  cpu_limit_.begin(budget_.cpu_share);
  spool_->set_most_file_bytes(budget_.disk_bytes);
  disk_limit_.begin(budget_.disk_bytes, spool_->file_bytes());
  memory_limit_.begin(budget_.memory_bytes, 0);
}

// Ticks have the rate that they had since the beginning.
double Watch::ns_per_tick() const {
  if (stamps_are_clock) return 1;
  const std::uint64_t passed = stamp() - begin_stamp_;
  return passed == 0 ? 0 : static_cast<double>(monotonic_ns() - begin_ns_) / static_cast<double>(passed);
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
  const double rate = ns_per_tick();
  const auto long_ns = static_cast<double>(own_cost.long_ns() - long_ns_before_);
  const CpuUse now{static_cast<double>(own_cost.ticks() - own_ticks_before_) * rate + long_ns,
                   static_cast<double>(own_cost.unusual_ns() - unusual_ns_before_), used_ns() - process_before_ns_};
  use.recorder_ns = static_cast<std::uint64_t>(now.own);
  use.process_ns = static_cast<std::uint64_t>(now.process);
  if (!widen_for_budget(cpu_limit_.doublings(now), trace::WatchStop::CpuBudget)) return;
  if (rate > 0) {
    own_cost.set_most_usual(std::max(OwnCost::kLeastUsualNs, kUnusual * cpu_limit_.usual_ns() / kTurnsOfLook), rate);
  }
  const std::uint64_t file = spool_->file_bytes();
  if (!keep_room(disk_limit_, file, trace::WatchStop::DiskBudget)) return;
  if (budget_.memory_bytes == 0 || looks_++ % kLooksOfMemory != 0) return;
  use.recorder_bytes = own_resident_bytes() + file;
  keep_room(memory_limit_, use.recorder_bytes, trace::WatchStop::MemoryBudget);
}

}  // namespace tare::recorder
