// Python's code objects as rows: each line of a function that occurs in a stack is one row.
//
// Python may free a code object and make another one at its address. Their fingerprints differ: in 3.12 and later the
// version number of the code object, in earlier versions a hash over its names, lines and places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/managed/python_runtime.h"

namespace tare::recorder {

// Of the code object itself, which must be alive.
std::uint64_t print_of_code(const PythonRuntime& runtime, std::uint64_t code);

// The row of a frame that executes `code` at `instruction` (as the frame has it). 0: there is no room, or `code` is no
// code object. Any thread may call it. A new row takes a lock for a microsecond.
std::uint32_t row_of_code(const PythonRuntime& runtime, std::uint64_t code, std::uint64_t instruction,
                          std::uint64_t print);

// In a forked child, whose parent's other threads may have held the lock.
void reset_python_codes();

}  // namespace tare::recorder
