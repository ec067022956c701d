// Compares a program's seccomp filters with the system calls of the recorder, before it is loaded.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <optional>
#include <vector>

#include "core/injection/remote_thread.h"
#include "trace/base/result.h"

namespace tare::core {

// The number of a system call of the loader or of the recorder that the filter doesn't let pass; -1: the filter has an
// unknown form.
std::optional<int> refused_call(const std::vector<sock_filter>& filter);

// Of a stopped thread, whose filters the process's other threads must have too. CannotRecord, with the reason, if a
// filter refuses a call, or can't be read.
Status check_filters(pid_t pid, RemoteThread& thread);

}  // namespace tare::core
