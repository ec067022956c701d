// Measures the recorder's own CPU time and memory: see own_use.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/limits/own_use.h"

#include <algorithm>

#include "recorder/base/address.h"
#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/events/own_cost.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

namespace {

// A call that takes longer than so many usual ones has done more than to record a sample.
constexpr double kUnusual = 8;

// Pages of private memory that were touched. One caller at a time. If the program's sandbox forbids the call, all of
// the range counts.
std::uint64_t touched_bytes(std::uint64_t start, std::uint64_t bytes) {
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

double used_ns() {
  const std::uint64_t cpu_ns = process_cpu_ns();
  return static_cast<double>(cpu_ns != 0 ? cpu_ns : monotonic_ns());
}

}  // namespace

void OwnUse::begin() {
  ticks_before_ = own_cost.ticks();
  long_ns_before_ = own_cost.long_ns();
  unusual_ns_before_ = own_cost.unusual_ns();
  own_cost.measure();
  process_before_ns_ = used_ns();
  begin_stamp_ = stamp();
  begin_ns_ = monotonic_ns();
}

// Ticks have the rate that they had since the beginning.
double OwnUse::ns_per_tick() const {
  if (stamps_are_clock) return 1;
  const std::uint64_t passed = stamp() - begin_stamp_;
  return passed == 0 ? 0 : static_cast<double>(monotonic_ns() - begin_ns_) / static_cast<double>(passed);
}

CpuUse OwnUse::cpu() const {
  const auto long_ns = static_cast<double>(own_cost.long_ns() - long_ns_before_);
  return {static_cast<double>(own_cost.ticks() - ticks_before_) * ns_per_tick() + long_ns,
          static_cast<double>(own_cost.unusual_ns() - unusual_ns_before_), used_ns() - process_before_ns_};
}

void OwnUse::set_usual_call(double ns) const {
  const double rate = ns_per_tick();
  if (rate > 0) own_cost.set_most_usual(std::max(OwnCost::kLeastUsualNs, kUnusual * ns), rate);
}

std::uint64_t OwnUse::resident_bytes() {
  const trace::OwnRanges& own = own_ranges();
  std::uint64_t sum = 0;
  std::uint32_t count = own.count.load(std::memory_order_acquire);
  if (count > trace::OwnRanges::kMost) count = trace::OwnRanges::kMost;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = own.ranges[i].bytes.load(std::memory_order_acquire);
    if (bytes != 0) sum += touched_bytes(own.ranges[i].start, bytes);
  }
  return sum;
}

}  // namespace tare::recorder
