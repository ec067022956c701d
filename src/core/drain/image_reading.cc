// Readings of a process image's resident memory, while it runs.
#include <time.h>

#include <utility>

#include "core/drain/image_recording.h"
#include "core/snapshot/memory_reading.h"
#include "trace/base/clock_ns.h"

namespace tare::core {

using namespace trace;

std::uint64_t ImageRecording::watch_memory(const SnapshotFacts& facts, ReadingBudget& budget,
                                           const RoomOfProcess& free_bytes) {
  if (process_ == 0 || !spool_ || failure_ || gaps_are_final_) return ~std::uint64_t{0};
  const std::uint64_t now_ns = monotonic_ns();
  if (!readings_.check_is_due(now_ns)) return readings_.next_look_ns();
  const std::optional<std::uint64_t> rss_bytes = resident_bytes_of(process_);
  if (!rss_bytes) return ~std::uint64_t{0};
  if (readings_.reading_is_due(now_ns, *rss_bytes, budget) &&
      free_bytes(process_).value_or(~std::uint64_t{0}) >= readings_.needed_room_bytes(*rss_bytes)) {
    const std::uint64_t begin_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    take_reading(facts);
    readings_.record(now_ns, *rss_bytes, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns, budget);
  }
  return readings_.next_look_ns();
}

void ImageRecording::read_memory_once(const SnapshotFacts& facts) {
  if (process_ != 0 && spool_ && !failure_ && !gaps_are_final_ && !record_.info.reading) take_reading(facts);
}

void ImageRecording::take_reading(const SnapshotFacts& facts) {
  std::optional<MemoryReading> reading =
      read_memory(process_, {facts.recorder_library, facts.spool_folder, facts.spool_folder + "/" + spool_name(),
                             spool_->header().own_ranges});
  if (!reading) return;
  reading->stamp = stamp_now();
  record_.info.reading = std::move(reading);
  if (summary_.replay()) summary_.replay()->expect_reading();
}

}  // namespace tare::core
