// The slow way to one frame's caller: all registers, from inside this library outwards. For the few frames whose CFA
// needs more than rsp and rbp (glibc's lazy binding trampoline keeps its CFA in rbx).
#pragma once

#include <cstdint>

#include "recorder/unwind/cfi.h"
#include "recorder/unwind/load.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {

struct FramePosition {
  std::uint64_t pc;  // return address, or an interrupted pc + 1
  std::uint64_t sp;
  std::uint64_t rbp;
};

// The interrupted pc, 0, + 1 where a program called through a null pointer and its handler for the fault allocates.
// There is no function: the frame is the caller's. See arch::leave_null_call().
inline constexpr std::uint64_t kCalledNull = 1;

// Turns `position`, a frame of the calling thread, into its caller's. False: it can't be reached or stepped.
bool full_walk(FramePosition& position, StackMemory& memory, CfiWork& work);

// Does the code at `pc` return from a signal handler? Only where no unwind table describes it.
bool returns_from_signal(std::uint64_t pc);

// Does a call end at `address`? Its code is read.
bool follows_call(std::uint64_t address);

// One step by frame pointer, for code without unwind table. False: rbp doesn't look like one. On aarch64 the caller's
// sp isn't known then, but is at least the result's.
bool frame_pointer_step(FramePosition& position, StackMemory& memory);

}  // namespace tare::recorder
