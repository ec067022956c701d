// Maps memory and lists it: see own_memory.h.
#include "recorder/unwind/own_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "recorder/base/address.h"
#include "recorder/base/syscall.h"

namespace tare::recorder {

namespace {

constinit trace::OwnRanges ranges;
constinit std::atomic<bool> unlocks{false};

// RLIMIT_DATA counts private writable memory when it's mapped, touched or not, except memory that may grow downwards as
// stacks do. Tables that are reserved for the largest programs are mapped as such: 13 to 88 MB of the program's limit.
// Their lowest page is a guard, so nothing grows. Smaller ones aren't worth a second mapping.
constexpr std::uint64_t kLeastUncounted = 512 << 10;
// The kernel leaves 1 MiB free below memory that may grow. It looks into each such gap before it finds a place for the
// program's next mapping: with 10,000 threads' tables, a mapping took 5 ms. So they lie apart from the program's.
constexpr std::uint64_t kDistance = std::uint64_t{2} << 40;

constinit std::atomic<std::uint64_t> first_apart{0};
constinit std::atomic<std::uint64_t> reserved_apart{0};  // bytes

// A hint: if something is there, the kernel chooses another place. Null: addresses are too low for one.
void* place_apart(std::uint64_t bytes) {
  std::uint64_t first = first_apart.load(std::memory_order_relaxed);
  if (first == 0) {
    // The library is where mappings are; where the recorder is part of an executable, the stack is.
    const std::uint64_t mapped =
        std::max(reinterpret_cast<std::uint64_t>(&ranges), reinterpret_cast<std::uint64_t>(&first));
    const std::uint64_t apart = (mapped & ~(kPage - 1)) - kDistance;
    if (mapped < 2 * kDistance) return nullptr;
    if (first_apart.compare_exchange_strong(first, apart, std::memory_order_relaxed)) first = apart;
  }
  return reinterpret_cast<void*>(first + reserved_apart.fetch_add(bytes, std::memory_order_relaxed));
}

long map(void* place, std::uint64_t bytes, int flags) {
  return sys::mmap(place, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

// Locked memory becomes resident when it's mapped, but not while it can't be touched.
long map_unlocked(void* place, std::uint64_t bytes, int flags) {
  const long result = sys::mmap(place, bytes, PROT_NONE, flags, -1, 0);
  if (sys::failed(result)) return result;
  const long size = static_cast<long>(bytes);
  sys::call(SYS_munlock, result, size);
  const long allowed = sys::call(SYS_mprotect, result, size, PROT_READ | PROT_WRITE);
  if (!sys::failed(allowed)) return result;
  sys::munmap(reinterpret_cast<void*>(result), bytes);
  return allowed;
}

void list(std::uint64_t start, std::uint64_t bytes) {
  const std::uint32_t place = ranges.count.fetch_add(1, std::memory_order_relaxed);
  if (place >= trace::OwnRanges::kMost) return;
  ranges.ranges[place].start = start;
  ranges.ranges[place].bytes.store(bytes, std::memory_order_release);
}

std::uint64_t guard_bytes(std::uint64_t bytes) { return bytes >= kLeastUncounted ? kPage : 0; }

// The rest of the last page belongs to the recorder, too: a snapshot mustn't take it for the program's.
std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

}  // namespace

void* reserve_zeroed(std::uint64_t requested_bytes) {
  const std::uint64_t bytes = whole_pages(requested_bytes);
  const std::uint64_t guard = guard_bytes(bytes);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (guard != 0 ? MAP_GROWSDOWN : 0);
  void* const hint = guard != 0 ? place_apart(guard + bytes) : nullptr;
  const long mapped = unlocks.load(std::memory_order_relaxed) ? map_unlocked(hint, guard + bytes, flags)
                                                              : map(hint, guard + bytes, flags);
  if (sys::failed(mapped)) return nullptr;
  if (guard != 0) sys::call(SYS_mprotect, mapped, static_cast<long>(guard), PROT_NONE);
  const std::uint64_t start = static_cast<std::uint64_t>(mapped) + guard;
  list(start, bytes);
  return reinterpret_cast<void*>(start);
}

void list_zeroed_data(const char* start, const char* end) {
  const std::uint64_t first = whole_pages(reinterpret_cast<std::uint64_t>(start));
  const std::uint64_t last = whole_pages(reinterpret_cast<std::uint64_t>(end));
  if (first < last) list(first, last - first);
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
