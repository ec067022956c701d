// The slow way to one frame's caller: all registers, from inside this library outwards. For the few frames whose CFA
// needs more than rsp and rbp (glibc's lazy binding trampoline keeps its in rbx).
#pragma once

#include <cstdint>

#include "recorder/unwind/cfi.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {

struct FramePosition {
  std::uint64_t pc;  // return address, or an interrupted pc + 1
  std::uint64_t sp;
  std::uint64_t rbp;
};

// Turns `position`, a frame of the calling thread, into its caller's. False: it can't be reached or stepped.
bool full_walk(FramePosition& position, StackMemory& memory, CfiWork& work);

// One step by frame pointer, for code without unwind table. False: rbp doesn't look like one.
bool frame_pointer_step(FramePosition& position, StackMemory& memory);

}  // namespace tare::recorder
