// Page-by-page probing of stacks, remembered per thread.
#include "recorder/unwind/stack_memory.h"

#include <cerrno>

#include "recorder/base/syscall.h"

extern "C" __attribute__((weak)) void* __libc_stack_end;  // glibc's loader has it

namespace tare::recorder {
namespace {

// One frame may be as large as this (arrays of the program on its stack); a wild CFA isn't followed further.
constexpr std::uint64_t kMaxJump = 64 << 20;
// A stack that grew: pages between the new and the old lowest frame, up to this.
constexpr std::uint64_t kMaxGrowth = 16 << 20;

constexpr std::uint64_t kMaxArguments = 64 << 10;  // between the first frame and the recorded end

std::uint64_t found_stack_end = 0;  // with C libraries that don't record it

// Where the kernel put the count of the arguments; 0: unknown.
std::uint64_t stack_end() {
  return &__libc_stack_end != nullptr ? reinterpret_cast<std::uint64_t>(__libc_stack_end) : found_stack_end;
}

// Does the thread's own stack begin here? The main thread's at the place that the kernel gave; another's below its
// thread control block, with only thread-local data in between.
bool is_base_of_own_stack(std::uint64_t sp) {
  if (const std::uint64_t end = stack_end(); end != 0) {
    if (sp + kMaxArguments >= end && sp <= end + kMaxArguments) return true;
  }
  constexpr std::uint64_t kMaxThreadLocal = 4 << 20;
  const auto control_block = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  if (sp >= control_block || control_block - sp > kMaxThreadLocal) return false;
  if (sys::forbidden_calls.has(SYS_rt_sigprocmask)) return control_block - sp < kMaxArguments;
  for (std::uint64_t page = sp & ~(StackMemory::kPage - 1); page < control_block; page += StackMemory::kPage) {
    if (!probe_readable(page)) return false;
  }
  return true;
}

}  // namespace

// rt_sigprocmask copies the new mask in before it checks `how`: EFAULT means that the address is unreadable, EINVAL (no
// such `how`) that it is readable. It changes nothing, needs no descriptor, and few sandboxes forbid it. Not through
// libc: errno stays.
bool probe_readable(std::uint64_t address) {
  constexpr long kNoSuchHow = -1;
  if (address >= arch::kUserEnd - StackMemory::kPage || address < StackMemory::kPage)
    return false;  // a null mask is none: no error
  const long result = sys::call(SYS_rt_sigprocmask, kNoSuchHow, static_cast<long>(address & ~std::uint64_t{7}), 0, 8);
  return result != -EFAULT && result != -EPERM;  // forbidden: unknown
}

// The arguments lie below the environment: their count, then as many pointers, then a null one.
void find_stack_end(const char* const* environment) {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const auto above = reinterpret_cast<std::uint64_t>(environment);
  if (&__libc_stack_end != nullptr || above < here || above - here > kMaxJump) return;  // the program replaced it
  if (environment[-1] != nullptr) return;
  for (std::uint64_t count = 0; above - here > 8 * (count + 2); ++count) {
    const char* const* const at = environment - 2 - count;
    if (reinterpret_cast<std::uint64_t>(*at) != count) continue;
    found_stack_end = reinterpret_cast<std::uint64_t>(at);
    return;
  }
}

// glibc's start function aligns the stack and pushes two words, no more; the loader started as a command skips its own
// arguments. musl's start functions are three, one calling the next.
static bool is_first_of_main_stack(std::uint64_t sp) {
  const std::uint64_t most_pushed = &__libc_stack_end != nullptr ? 32 : 256;
  const std::uint64_t end = stack_end();
  return end != 0 && sp + most_pushed >= end && sp <= end + kMaxArguments;
}

// musl puts a thread's descriptor and its thread-local data above its stack, in one mapping.
bool is_first_of_own_stack(std::uint64_t sp) {
  constexpr std::uint64_t kMostAbove = 4096;
  if (is_first_of_main_stack(sp)) return true;
  const auto control_block = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  return &__libc_stack_end == nullptr && sp < control_block && control_block - sp <= kMostAbove;
}

void StackMemory::clear(std::uint64_t mappings) {
  own_ = {0, 0};
  mappings_ = mappings;
  settle();
}

void StackMemory::settle() {
  mappings_ &= ~kUnproven;
  for (Region& region : regions_) region = {0, 0};
  regions_[0] = own_;
  low_ = own_.low;
  high_ = own_.high;
  current_ = 0;
  next_ = 1;
}

bool StackMemory::prove(std::uint64_t inner_sp, std::uint64_t outer_sp, bool complete) {
  const std::uint64_t low = inner_sp & ~(kPage - 1);
  const std::uint64_t high = (outer_sp & ~(kPage - 1)) + kPage;
  const bool leads_to_own = outer_sp >= own_.low && outer_sp < own_.high;
  if (inner_sp > outer_sp || !(leads_to_own || (complete && is_base_of_own_stack(outer_sp)))) return false;
  if (!leads_to_own) own_ = {low, high};
  if (low < own_.low) own_.low = low;
  return true;
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
  mappings_ |= kUnproven;
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
  mappings_ |= kUnproven;
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
