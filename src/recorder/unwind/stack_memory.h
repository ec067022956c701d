// Which addresses of a thread's stacks can be read without a fault. Any stack will do: main, thread's, sigaltstack, a
// coroutine's; none is asked of pthread (pthread_getattr_np allocates) or of /proc.
#pragma once

#include <cstdint>

namespace tare::recorder {

// Asks the kernel whether the word at `address` (rounded down to 8) can be read: some 100 ns. Exact for its whole page.
bool probe_readable(std::uint64_t address);

class StackMemory {
 public:
  static constexpr std::uint64_t kPage = 4096;

  // The stack that holds `sp` becomes the current one. False: sp points nowhere.
  bool enter(std::uint64_t sp) {
    if (sp >= low_ && sp < high_) return true;
    return enter_slow(sp);
  }

  // May the word at `address` be read? Nearly always one comparison: the stack was looked at page by page when it was
  // first walked.
  bool readable(std::uint64_t address) {
    if (address >= low_ && address + 8 <= high_ && address + 8 != 0) return true;
    return readable_slow(address);
  }

  // Is the current stack readable from where it was entered up to `end`?
  bool reaches(std::uint64_t end) { return end >= low_ && (end <= high_ || extend_up(end - 8)); }

  // Everything known is forgotten (mappings changed).
  void clear();

 private:
  struct Region {
    std::uint64_t low;
    std::uint64_t high;
  };
  static constexpr std::uint32_t kRegions = 4;  // thread stack, sigaltstack, and two more for those who switch stacks

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
};

}  // namespace tare::recorder
