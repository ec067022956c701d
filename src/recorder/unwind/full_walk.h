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
// There is no function: the frame is the caller's, whose return address lies on top of the stack.
inline constexpr std::uint64_t kCalledNull = 1;
inline void leave_null_call(FramePosition& position) {
  position.pc = load(position.sp);
  position.sp += 8;
}

// Turns `position`, a frame of the calling thread, into its caller's. False: it can't be reached or stepped.
bool full_walk(FramePosition& position, StackMemory& memory, CfiWork& work);

// One step by frame pointer, for code without unwind table. False: rbp doesn't look like one.
bool frame_pointer_step(FramePosition& position, StackMemory& memory);

}  // namespace tare::recorder
