// What the recorder made of a Python interpreter in the program: a word of the spool's header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::trace {

enum class PythonState : std::uint8_t {
  None = 0,            // no interpreter was seen
  Unproven = 1,        // found; no frame has been read yet
  Woven = 2,           // its frames are in the stacks
  UnknownVersion = 3,  // older than 3.9, or newer than this recorder
  FreeThreaded = 4,    // built without the interpreter's lock
  UnknownLayout = 5,   // its structures aren't those of the version that it claims to be
};

// The state, and the minor version above it.
constexpr std::uint32_t python_word(PythonState state, int minor) {
  return static_cast<std::uint32_t>(state) | static_cast<std::uint32_t>(minor) << 8;
}
constexpr PythonState python_state_of(std::uint32_t word) { return static_cast<PythonState>(word & 0xff); }
constexpr int python_minor_of(std::uint32_t word) { return static_cast<int>(word >> 8 & 0xff); }

// The module that rows of Python's frames belong to. Such a row's address has the line in its low 20 bits, and above
// them the place of the code's names in the string pool: file's offset (u32) and length (u32), function's length (u32)
// and bytes.
inline constexpr char kPythonModule[] = "[python]";
inline constexpr int kPythonLineBits = 20;

}  // namespace tare::trace
