// Python's code objects as rows: each line of each function that was seen on a stack is one row.
//
// A code object may be freed, and another made at its address. A print tells them apart: the version number that 3.12
// and later give each code object, before that a hash over names, lines and their places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/managed/python_runtime.h"

namespace tare::recorder {

// Of the code object itself, which must be alive.
std::uint64_t print_of_code(const PythonRuntime& runtime, std::uint64_t code);

// The row of a frame that executes `code` at `instruction` (as the frame has it). 0: there is no room, or what is there
// is no code object. Shared by all threads; takes a lock, for a microsecond when the row is new.
std::uint32_t row_of_code(const PythonRuntime& runtime, std::uint64_t code, std::uint64_t instruction,
                          std::uint64_t print);

// In a forked child, whose parent's other threads may have held the lock.
void reset_python_codes();

}  // namespace tare::recorder
