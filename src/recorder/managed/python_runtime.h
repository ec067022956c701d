// The Python interpreter in this process: found among the loaded objects, with the layout of its version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/managed/python_layout.h"
#include "trace/model/python_state.h"

namespace tare::recorder {

struct PythonRuntime {
  int minor;
  PythonLayout layout;
  std::uint64_t (*thread_state)();  // of the calling thread, whether or not it holds the interpreter's lock; 0: none
  std::uint64_t code_type;
  std::uint64_t text_type;
  std::uint64_t bytes_type;
  std::uint64_t evaluation_start;  // 3.9: the code of _PyEval_EvalFrameDefault, up to the end of its symbol
  std::uint64_t evaluation_end;
};

// Looks into the object around `address`, which has just been loaded. Async-signal-safe. True: it has an interpreter,
// the first one, whose frames can be read.
bool find_python(std::uint64_t address);

// Only after find_python() returned true.
const PythonRuntime& python_runtime();

// What becomes of Python's frames, for the launcher.
void set_python_state(trace::PythonState state);
trace::PythonState python_state();
// The word of the spool that repeats it.
void attach_python_state(std::atomic<std::uint32_t>* word);

}  // namespace tare::recorder
