// Python's strings as UTF-8, read in the program's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/managed/python_runtime.h"

namespace tare::recorder {

inline constexpr std::uint32_t kMostPythonText = 4000;  // a longer one is cut, as names in a trace are

// Into `out`, which has room for kMostPythonText bytes. Returns how many; 0 for what is no string. A lone surrogate
// that stands for an undecodable byte of a path becomes that byte again.
std::uint32_t copy_python_text(const PythonRuntime& runtime, std::uint64_t object, char* out);

// Differs for strings that differ in length, kind, their first 8 or their last 16 bytes.
std::uint64_t print_of_python_text(const PythonRuntime& runtime, std::uint64_t object);

}  // namespace tare::recorder
