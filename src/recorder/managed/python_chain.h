// The Python frames of the calling thread, as the interpreter chains them: from the innermost outwards.
//
// Only the thread itself changes its chain, so it's whole inside any call of the allocator, with or without the
// interpreter's lock. An outer frame may have been freed since the last look, so only live links are followed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/managed/python_runtime.h"

namespace tare::recorder {

struct PythonFrame {
  std::uint64_t frame;
  std::uint64_t code;
  std::uint64_t instruction;  // as the frame has it
  std::uint64_t print;        // a word that most probably differs where another code object came to the same address
  // Of the outermost frame of a native call of the evaluation function: a word on the native stack, in that call's
  // frame; 0: not known. Of other frames: kInsideCall.
  std::uint64_t call;
};

inline constexpr std::uint64_t kInsideCall = 1;  // no word has this address

inline bool operator==(const PythonFrame& a, const PythonFrame& b) {
  return ((a.frame ^ b.frame) | (a.code ^ b.code) | (a.instruction ^ b.instruction) | (a.print ^ b.print) |
          (a.call ^ b.call)) == 0;
}

// The frames of the last stack, the outermost first.
struct KnownChain {
  const PythonFrame* frames;
  std::uint32_t count;
};

struct PythonChainRoom {
  PythonFrame* frames;  // the innermost first
  std::uint32_t most;
};

enum class ChainEnd : std::uint32_t {
  Whole,
  Cut,    // there are more frames
  Wrong,  // of check_python_chain(): something isn't what the layout says
};

// The chain is `frames` frames in the room, and then the `known` outermost frames of the last stack.
struct PythonChainRead {
  std::uint32_t frames;
  std::uint32_t known;
  ChainEnd end;
};

// Frames of `last` are compared where they lie, and copied into the room only if a frame outside of them changed.
PythonChainRead read_python_chain(const PythonRuntime& runtime, std::uint64_t thread_state, KnownChain last,
                                  PythonChainRoom room);

// Asks the kernel whether memory is readable, and looks at each object's type.
PythonChainRead check_python_chain(const PythonRuntime& runtime, std::uint64_t thread_state, PythonChainRoom room);

// The state of the calling thread; 0: it has none, or one that isn't its own.
std::uint64_t python_thread_state(const PythonRuntime& runtime);

}  // namespace tare::recorder
