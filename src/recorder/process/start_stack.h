// What the kernel put on the main stack when the program began: read from memory, where /proc takes 20 to 40 us at the
// first access of a process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::recorder {

// The arguments, one behind the other, each with its terminating zero, as in /proc/self/cmdline. Length 0: not known.
struct CommandLine {
  const char* start = nullptr;
  std::uint64_t length = 0;
};
CommandLine command_line_at_start();

// Writes the same path to `path` (`capacity` bytes, more than PATH_MAX) as /proc/self/exe has, without terminating
// zero. Returns its length; 0: not known. Follows the path by which the program was executed, and checks that the file
// there is the one that the kernel mapped.
std::uint64_t executable_path(char* path, std::uint64_t capacity);

}  // namespace tare::recorder
