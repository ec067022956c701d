// Maps memory and lists it: see own_memory.h.
#include "recorder/unwind/own_memory.h"

#include <sys/mman.h>

#include "recorder/syscall.h"

namespace tare::recorder {

namespace {

constinit trace::OwnRanges ranges;

}  // namespace

void* reserve_zeroed(std::uint64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long result = sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (sys::failed(result)) return nullptr;
  const std::uint32_t place = ranges.count.fetch_add(1, std::memory_order_relaxed);
  if (place < trace::OwnRanges::kMost) {
    ranges.ranges[place].start = static_cast<std::uint64_t>(result);
    ranges.ranges[place].bytes.store(bytes, std::memory_order_release);
  }
  return reinterpret_cast<void*>(result);
}

// Off the list first: another thread's mapping may be there at once.
void give_back(void* memory, std::uint64_t bytes) {
  for (trace::OwnRange& range : ranges.ranges) {
    if (range.bytes.load(std::memory_order_acquire) == 0 || range.start != reinterpret_cast<std::uint64_t>(memory))
      continue;
    range.bytes.store(0, std::memory_order_release);
    break;
  }
  sys::munmap(memory, bytes);
}

const trace::OwnRanges& own_ranges() { return ranges; }

}  // namespace tare::recorder
