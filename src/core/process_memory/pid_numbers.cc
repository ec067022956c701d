// Reads numbers of processes across pid namespaces: see pid_numbers.h.
#include "core/process_memory/pid_numbers.h"

#include <sys/stat.h>

#include <sstream>
#include <string>

#include "trace/base/process_files.h"

namespace tare::core {

std::uint64_t own_pid_namespace() {
  struct stat status;
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

pid_t innermost_number(pid_t pid, pid_t tid) {
  const auto text = trace::read_process_file(pid, "task/" + std::to_string(tid) + "/status");
  if (!text) return tid;
  std::istringstream file(*text);
  constexpr std::string_view kField = "NSpid:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kField)) continue;
    std::istringstream numbers(line.substr(kField.size()));
    pid_t innermost = tid;
    for (pid_t number; numbers >> number;) innermost = number;
    return innermost;
  }
  return tid;
}

}  // namespace tare::core
