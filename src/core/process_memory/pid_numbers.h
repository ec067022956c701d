// The number that a thread has in its own pid namespace, which is the number that the program itself sees.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace tare::core {

// The kernel's identity of a pid namespace: the inode of /proc/PID/ns/pid. Zero where it can't be read.
std::uint64_t own_pid_namespace();

// `tid` of process `pid`, both as this process sees them, as the thread itself sees it: the last number of NSpid in
// /proc/PID/task/TID/status. `tid` itself where the file can't be read (before Linux 4.1, or the thread is gone).
pid_t innermost_number(pid_t pid, pid_t tid);

}  // namespace tare::core
