// Reads the kernel's files about processes: /proc/PID/NAME. A process may end between opening and reading; the kernel
// answers such a read with ESRCH, which std::istreambuf_iterator throws as "basic_filebuf::underflow".
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare::trace {

// The whole of the file at `path`; std::nullopt, with errno set, where it can't be opened or read to its end.
std::optional<std::string> read_kernel_file(const std::string& path);
// The same of /proc/PID/NAME ("maps", "task/TID/status").
std::optional<std::string> read_process_file(pid_t pid, std::string_view name);

// Of /proc/PID/stat, or of /proc/PID/task/TID/stat.
struct ProcessStat {
  char state;    // 'R', 'S', 'Z' (ended, its parent hasn't waited), ...
  pid_t parent;  // in the reader's pid namespace; 0: outside of it
};
// Parses the text of /proc/PID/stat. A name may hold any character, ") " included.
std::optional<ProcessStat> parse_process_stat(std::string_view text);
std::optional<ProcessStat> process_stat(pid_t pid);
std::optional<ProcessStat> thread_stat(pid_t pid, pid_t tid);

// Of its threads now, in no order; empty if there is no such process.
std::vector<pid_t> thread_ids(pid_t pid);

}  // namespace tare::trace
