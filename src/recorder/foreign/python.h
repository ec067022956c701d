// CPython's allocators, which take their memory by mmap: wrapped by the interpreter's own table.
#pragma once

#include <cstddef>

#include "trace/spool/rendezvous.h"

namespace tare::recorder {

// Before the interpreter starts, if the program has one loaded. Then no block is older than the wrapping.
void wrap_python_allocators();

// The same in a running interpreter, while nothing is recorded: writes the functions into its tables one by one. The
// result is the number of slots, with the functions before. 0: there is no interpreter, or its functions aren't found.
inline constexpr std::size_t kPythonSlots = 8;
std::size_t take_python_tables(trace::TakenSlot (&slots)[kPythonSlots]);

}  // namespace tare::recorder
