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
};

// Where the frames of one native call of the evaluation function end.
struct PythonCall {
  std::uint64_t word;    // on the native stack, in that call's frame; 0: not known
  std::uint32_t frames;  // the chain's frames up to here
};

struct PythonChainRoom {
  PythonFrame* frames;
  PythonCall* calls;
  std::uint32_t most;  // of each
};

struct PythonChainRead {
  std::uint32_t frames;
  std::uint32_t calls;
  bool is_cut;    // there are more
  bool is_wrong;  // with Checked: something isn't what the layout says
};

enum class ReadMode : std::uint8_t {
  Plain,
  Checked,  // asks the kernel whether memory is readable, and looks at each object's type
};

PythonChainRead read_python_chain(const PythonRuntime& runtime, std::uint64_t thread_state, ReadMode mode,
                                  const PythonChainRoom& room);

// The state of the calling thread; 0: it has none, or one that isn't its own.
std::uint64_t python_thread_state(const PythonRuntime& runtime);

}  // namespace tare::recorder
