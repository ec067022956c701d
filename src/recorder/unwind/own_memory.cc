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

// The first requests of a process share one mapping: the table of return addresses, the first thread's state, and the
// list of modules. Their beginnings lie within a megabyte, so that one or two page tables suffice. Three mappings with
// a guard each took a short process six system calls and four page tables.
constexpr std::uint64_t kSharedSmall = (1 << 20) + (64 << 10);
constexpr std::uint64_t kSharedBytes = kSharedSmall + (13 << 20);  // the list of modules has 12.5 MiB
constexpr std::uint64_t kLeastLarge = 4 << 20;
enum class Sharing : std::uint32_t { NotYet, Begins, Ready };
constinit std::atomic<Sharing> sharing{Sharing::NotYet};
constinit std::uint64_t shared_start = 0;
constinit std::atomic<std::uint64_t> small_used{0};
constinit std::atomic<std::uint64_t> large_used{0};

void* map_own(std::uint64_t bytes) {
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

// Of one of the two parts of the shared mapping. 0: it's full.
std::uint64_t take(std::atomic<std::uint64_t>& used, std::uint64_t capacity, std::uint64_t bytes) {
  constexpr std::uint64_t kLine = 64;
  bytes = (bytes + kLine - 1) & ~(kLine - 1);
  std::uint64_t seen = used.load(std::memory_order_relaxed);
  do {
    if (bytes > capacity - seen) return 0;
  } while (!used.compare_exchange_weak(seen, seen + bytes, std::memory_order_relaxed));
  return shared_start + seen;
}

std::uint64_t take_shared(std::uint64_t bytes) {
  Sharing not_yet = Sharing::NotYet;
  if (sharing.load(std::memory_order_relaxed) == Sharing::NotYet &&
      sharing.compare_exchange_strong(not_yet, Sharing::Begins, std::memory_order_relaxed)) {
    shared_start = reinterpret_cast<std::uint64_t>(map_own(kSharedBytes));
    if (shared_start != 0) sharing.store(Sharing::Ready, std::memory_order_release);
  }
  if (sharing.load(std::memory_order_acquire) != Sharing::Ready) return 0;
  if (bytes < kLeastLarge) return take(small_used, kSharedSmall, bytes);
  const std::uint64_t place = take(large_used, kSharedBytes - kSharedSmall, bytes);
  return place == 0 ? 0 : place + kSharedSmall;
}

}  // namespace

void* reserve_zeroed(std::uint64_t bytes) {
  if (const std::uint64_t shared = take_shared(bytes); shared != 0) return reinterpret_cast<void*>(shared);
  return map_own(bytes);
}

void keep_memory_unlocked(bool wanted) { unlocks.store(wanted, std::memory_order_relaxed); }

// Off the list first: another thread's mapping may be there at once.
void give_back(void* memory, std::uint64_t bytes) {
  if (reinterpret_cast<std::uint64_t>(memory) - shared_start < kSharedBytes) return;  // few, and small
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
