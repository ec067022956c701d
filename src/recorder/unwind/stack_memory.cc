// Page-by-page probing of stacks, remembered per thread.
#include "recorder/unwind/stack_memory.h"

#include <cerrno>

#include "recorder/syscall.h"

namespace tare::recorder {
namespace {

// One frame may be as large as this (arrays of the program on its stack); a wild CFA isn't followed further.
constexpr std::uint64_t kMaxJump = 64 << 20;
// A stack that grew: pages between the new and the old lowest frame, up to this.
constexpr std::uint64_t kMaxGrowth = 16 << 20;

}  // namespace

// rt_sigprocmask copies the new mask in before it looks at `how`: EFAULT tells an unreadable address, EINVAL (no such
// `how`) a readable one. It changes nothing, needs no descriptor, and few sandboxes forbid it. Not through libc: errno
// stays.
bool probe_readable(std::uint64_t address) {
  constexpr long kNoSuchHow = -1;
  constexpr std::uint64_t kUserEnd = 0x7fff'ffff'f000;
  if (address >= kUserEnd || address < StackMemory::kPage) return false;  // a null mask is none: no error
  const long result = sys::call(SYS_rt_sigprocmask, kNoSuchHow, static_cast<long>(address & ~std::uint64_t{7}), 0, 8);
  return result != -EFAULT && result != -EPERM;  // forbidden: nobody knows
}

void StackMemory::clear() {
  low_ = high_ = 0;
  current_ = next_ = 0;
  for (Region& region : regions_) region = {0, 0};
}

void StackMemory::save() { regions_[current_] = {low_, high_}; }

bool StackMemory::enter_slow(std::uint64_t sp) {
  save();
  for (std::uint32_t i = 0; i < kRegions; ++i) {
    if (sp >= regions_[i].low && sp < regions_[i].high) {
      current_ = i;
      low_ = regions_[i].low;
      high_ = regions_[i].high;
      return true;
    }
  }
  const std::uint64_t page = sp & ~(kPage - 1);
  const bool may_ask = !sys::forbidden_calls.has(SYS_rt_sigprocmask);
  if (may_ask && !probe_readable(sp)) return false;
  // Below a known region: the same stack, grown, if nothing unreadable lies between. A neighbour without a guard page
  // would be joined too, which does no harm: all of it is readable.
  for (std::uint32_t i = 0; i < kRegions; ++i) {
    Region& region = regions_[i];
    if (region.high == 0 || page >= region.low || region.low - page > kMaxGrowth) continue;
    std::uint64_t between = may_ask ? page + kPage : region.low;
    while (between < region.low && probe_readable(between)) between += kPage;
    if (between < region.low) continue;
    region.low = page;
    current_ = i;
    low_ = page;
    high_ = region.high;
    return true;
  }
  if (!may_ask) return false;
  current_ = next_;
  next_ = (next_ + 1) % kRegions;
  low_ = page;
  high_ = page + kPage;
  save();
  return true;
}

bool StackMemory::extend_up(std::uint64_t address) {
  const std::uint64_t last = address + 7;
  if (last < high_ || last - high_ > kMaxJump) return false;
  while (high_ <= last) {
    if (!probe_readable(high_)) return false;
    high_ += kPage;
  }
  return true;
}

bool StackMemory::readable_slow(std::uint64_t address) {
  if (address + 8 < address) return false;
  if (address >= low_ && extend_up(address)) return true;
  // Elsewhere: another stack (signal frames, frames with a CFA in memory), or nonsense. It doesn't become current.
  for (const Region& region : regions_) {
    if (address >= region.low && address + 8 <= region.high) return true;
  }
  return probe_readable(address) && probe_readable(address + 7);
}

}  // namespace tare::recorder
