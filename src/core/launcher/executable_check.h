// Finds the file that a command would execute, and checks before the start if it can be recorded.
#pragma once

#include <string>
#include <vector>

#include "trace/base/result.h"

namespace tare::core {

struct Executable {
  std::string path;                      // to hand to execve
  std::vector<std::string> before_args;  // "/bin/sh" and the path, for a script without "#!"; else empty
};

// CommandNotFound, or CannotRecord: static, 32-bit, foreign, setuid, or with file capabilities.
Result<Executable> find_executable(const std::string& command);

}  // namespace tare::core
