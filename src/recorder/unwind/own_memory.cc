// Maps memory and lists it: see own_memory.h.
#include "recorder/unwind/own_memory.h"

#include <sys/mman.h>

#include "recorder/base/syscall.h"

namespace tare::recorder {

namespace {

constinit trace::OwnRanges ranges;
constinit std::atomic<bool> unlocks{false};

constexpr std::uint64_t kPage = 4096;
// RLIMIT_DATA counts private writable memory when it's mapped, touched or not, except memory that may grow downwards as
// stacks do. Tables that are reserved for the largest programs are mapped as such: 13 to 88 MB of the program's limit.
// Their lowest page is a guard, so nothing grows. Smaller ones aren't worth a second mapping.
constexpr std::uint64_t kLeastUncounted = 512 << 10;

long map(std::uint64_t bytes, int flags) { return sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0); }

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

std::uint64_t guard_bytes(std::uint64_t bytes) { return bytes >= kLeastUncounted ? kPage : 0; }

// The rest of the last page belongs to the recorder, too: a snapshot mustn't take it for the program's.
std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

}  // namespace

void* reserve_zeroed(std::uint64_t requested_bytes) {
  const std::uint64_t bytes = whole_pages(requested_bytes);
  const std::uint64_t guard = guard_bytes(bytes);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (guard != 0 ? MAP_GROWSDOWN : 0);
  const long mapped =
      unlocks.load(std::memory_order_relaxed) ? map_unlocked(guard + bytes, flags) : map(guard + bytes, flags);
  if (sys::failed(mapped)) return nullptr;
  if (guard != 0) sys::call(SYS_mprotect, mapped, static_cast<long>(guard), PROT_NONE);
  const std::uint64_t start = static_cast<std::uint64_t>(mapped) + guard;
  const std::uint32_t place = ranges.count.fetch_add(1, std::memory_order_relaxed);
  if (place < trace::OwnRanges::kMost) {
    ranges.ranges[place].start = start;
    ranges.ranges[place].bytes.store(bytes, std::memory_order_release);
  }
  return reinterpret_cast<void*>(start);
}

void keep_memory_unlocked(bool wanted) { unlocks.store(wanted, std::memory_order_relaxed); }

// Off the list first: another thread's mapping may be there at once.
void give_back(void* memory, std::uint64_t requested_bytes) {
  const std::uint64_t bytes = whole_pages(requested_bytes);
  for (trace::OwnRange& range : ranges.ranges) {
    if (range.bytes.load(std::memory_order_acquire) == 0 || range.start != reinterpret_cast<std::uint64_t>(memory))
      continue;
    range.bytes.store(0, std::memory_order_release);
    break;
  }
  const std::uint64_t guard = guard_bytes(bytes);
  sys::munmap(static_cast<char*>(memory) - guard, guard + bytes);
}

const trace::OwnRanges& own_ranges() { return ranges; }

}  // namespace tare::recorder
