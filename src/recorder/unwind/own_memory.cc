// Maps memory and lists it: see own_memory.h.
#include "recorder/unwind/own_memory.h"

#include <sys/mman.h>

#include "recorder/base/syscall.h"

namespace tare::recorder {

namespace {

constinit trace::OwnRanges ranges;
constinit std::atomic<bool> unlocks{false};

// Locked memory becomes resident when it's mapped, but not while it can't be touched.
long map_unlocked(std::uint64_t bytes, int flags) {
  const long result = sys::mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
  if (sys::failed(result)) return result;
  const long size = static_cast<long>(bytes);
  sys::call(SYS_munlock, result, size);
  const long allowed = sys::call(SYS_mprotect, result, size, PROT_READ | PROT_WRITE);
  if (!sys::failed(allowed)) return result;
  sys::munmap(reinterpret_cast<void*>(result), bytes);
  return allowed;
}

}  // namespace

void* reserve_zeroed(std::uint64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long result = unlocks.load(std::memory_order_relaxed)
                          ? map_unlocked(bytes, flags)
                          : sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (sys::failed(result)) return nullptr;
  const std::uint32_t place = ranges.count.fetch_add(1, std::memory_order_relaxed);
  if (place < trace::OwnRanges::kMost) {
    ranges.ranges[place].start = static_cast<std::uint64_t>(result);
    ranges.ranges[place].bytes.store(bytes, std::memory_order_release);
  }
  return reinterpret_cast<void*>(result);
}

void keep_memory_unlocked(bool wanted) { unlocks.store(wanted, std::memory_order_relaxed); }

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
