// Which addresses of a thread's stacks can be read without a fault. The stack may be of any kind: main, thread's,
// sigaltstack, a coroutine's. pthread_getattr_np would allocate, and /proc isn't read.
//
// A readable address stays readable only on the thread's own stack, which exists as long as the thread. Other stacks
// are memory like any other: a free() may unmap a coroutine's, or a neighbour that was readable, inside of libc where
// no hook sees it. So results of a capture are dropped before the next, except for the part of the own stack that a
// complete walk has proven: its frames led from there to the thread's first function.
#pragma once

#include <cstdint>

namespace tare::recorder {

// Checks by a system call that the word at `address` (rounded down to 8) can be read: about 100 ns. Exact for its whole
// page.
bool probe_readable(std::uint64_t address);

// Is a frame at `sp` the first of its stack: of the main stack, is its caller's place the one at which the kernel put
// the arguments? Threads' first functions have unwind tables in glibc and none in musl.
bool is_first_of_own_stack(std::uint64_t sp);

// Looks for that place below the process's environment, as the kernel passed it: musl doesn't keep it. On the main
// stack, before threads start.
void find_stack_end(const char* const* environment);

class StackMemory {
 public:
  static constexpr std::uint64_t kPage = 4096;

  // The stack that holds `sp` becomes the current one. False: sp points nowhere.
  bool enter(std::uint64_t sp) {
    if (sp >= low_ && sp < high_) return true;
    return enter_slow(sp);
  }

  // May the word at `address` be read? Nearly always one comparison: the stack was checked page by page when it was
  // first walked.
  bool readable(std::uint64_t address) {
    if (address >= low_ && address + 8 <= high_ && address + 8 != 0) return true;
    return readable_slow(address);
  }

  // Is the current stack readable from where it was entered up to `end`?
  bool reaches(std::uint64_t end) { return end >= low_ && (end <= high_ || extend_up(end - 8)); }

  // Clears all results; `mappings` is the generation of mappings for new ones.
  void clear(std::uint64_t mappings);

  // True if the results are for these mappings, and proven. One comparison: where something was learnt that isn't
  // proven yet, this is false until settle().
  bool is_settled(std::uint64_t mappings) const { return mappings_ == mappings; }
  bool is_about(std::uint64_t mappings) const { return (mappings_ & ~kUnproven) == mappings; }

  // The last walk led on one stack from `inner_sp` to `outer_sp`, at which the stack ended if `complete`. If that
  // was the thread's own stack, it stays known.
  bool prove(std::uint64_t inner_sp, std::uint64_t outer_sp, bool complete);
  // Everything else is forgotten.
  void settle();

 private:
  struct Region {
    std::uint64_t low;
    std::uint64_t high;
  };
  static constexpr std::uint64_t kUnproven = std::uint64_t{1} << 63;
  // Thread stack, sigaltstack, and two more for programs that switch stacks.
  static constexpr std::uint32_t kRegions = 4;

  bool enter_slow(std::uint64_t sp);
  bool readable_slow(std::uint64_t address);
  bool extend_up(std::uint64_t address);
  void save();

  // The current region, [low_, high_) all readable; regions_[current_] is its older copy.
  std::uint64_t low_;
  std::uint64_t high_;
  Region regions_[kRegions];
  std::uint32_t current_;
  std::uint32_t next_;
  Region own_;              // of the thread's own stack
  std::uint64_t mappings_;  // number of the last change of mappings; with kUnproven since something was learnt
};

}  // namespace tare::recorder
