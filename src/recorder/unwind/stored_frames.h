// The unwinder's copy of a thread's last stack: its frames, and the stack words that prove that they are still valid.
#pragma once

#include <cstdint>

#include "recorder/unwind/full_walk.h"
#include "recorder/unwind/load.h"
#include "recorder/unwind/row_cache.h"
#include "recorder/unwind/rule.h"
#include "recorder/unwind/unwind.h"

namespace tare::recorder {

struct Frame {
  FramePosition position;
  Rule rule;
};

struct StoredFrame {
  FramePosition position;
  Rule rule;
  std::uint32_t first_check;  // its checks end where those of the next inner frame begin
  std::uint32_t stop;         // the innermost frame at or outside this one that can't be left by comparing

  bool is_signal() const { return rule.kind() == RuleKind::Signal; }
};

// A word of stack that must be as it was for a frame to be its inner neighbour's caller still: each frame has one for
// its return address, and one for its rbp if that matters and lies in memory. Apart from the frames, because nearly all
// the time goes into comparing (cc1plus: 37 frames a stack): 16 bytes a frame instead of 40, no branches.
struct Check {
  std::uint64_t slot;
  std::uint64_t value;

  std::uint64_t difference() const { return arch::code_address(load(slot) ^ value); }
};
// A slot that never differs, for frames whose inner neighbour can't be unwound by comparing.
inline constexpr std::uint64_t kZero = 0;

enum class Base : std::uint8_t { Complete, Truncated, NoTable, Failed };  // beyond the outermost frame
// Where a step led: ends are as in Base.
enum class Outcome : std::uint8_t { Complete, Caller, NoTable, Failed };
static_assert(static_cast<int>(Base::NoTable) == static_cast<int>(Outcome::NoTable) &&
              static_cast<int>(Base::Failed) == static_cast<int>(Outcome::Failed));

}  // namespace tare::recorder
