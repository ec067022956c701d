// Starts the command: its environment, its signals as the shell left them, and why it couldn't be started.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "core/launcher/executable_check.h"
#include "trace/base/result.h"

namespace tare::core {

using Variables = std::vector<std::pair<std::string, std::string>>;

// This process's environment with `library` first in LD_PRELOAD, without the TARE_* variables of an outer recording,
// and with `variables`.
std::vector<std::string> recorded_environment(const std::string& library, const Variables& variables);

// The pid. stdin, stdout, stderr, the directory and the process group are this process's. CannotRecord with the reason.
Result<pid_t> start_process(const Executable& executable, const std::vector<std::string>& command,
                            const std::vector<std::string>& environment);

}  // namespace tare::core
