// Reasons why the recorder can't be loaded into a process, found before the process is stopped.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "core/injection/loaded_objects.h"
#include "trace/base/result.h"

namespace tare::core {

// Of a line such as "TracerPid:\t0" of the text of /proc/PID/status.
std::optional<long> number_in_status(std::string_view status, std::string_view field);

enum class Filters : std::uint8_t { None, Some };

// CannotRecord: it ended, it is a thread of the kernel, another tracer holds it, its code is for another processor, or
// it is stopped or confined by seccomp's strict mode. Some: it has seccomp filters.
Result<Filters> check_target(pid_t pid);
// CannotRecord: its C library isn't glibc, or it lacks a function that loads libraries.
Status check_libc(pid_t pid, const LoadedObjects& objects);
// Why ptrace was refused with this errno.
Error trace_refused(pid_t pid, int error);
// A process without a loader, or one whose loader hasn't finished yet.
Error no_loader(pid_t pid);

}  // namespace tare::core
