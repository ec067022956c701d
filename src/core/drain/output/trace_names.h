// The naming contract: F for the first process's last image, F.PID for other processes, F.PID.eN for images replaced by
// exec, F.nsPID.N for the Nth process of that number in other pid namespaces which ended before its number here was
// known. Short traces are members PID, PID.eN and nsPID.N of F.short.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "trace/file/container.h"

namespace tare::core {

class TraceNames {
 public:
  // `output` as the user gave it, or empty: tare.PROGRAM.PID.tare.
  TraceNames(const std::string& output, const std::string& program, pid_t first_process)
      : first_process_(first_process),
        base_(!output.empty()
                  ? output
                  : "tare." + program.substr(program.rfind('/') + 1) + "." + std::to_string(first_process) + ".tare") {}

  // Of the image that a process runs now.
  std::string current(pid_t pid) const { return pid == first_process_ ? base_ : base_ + "." + std::to_string(pid); }
  // Of one that was replaced.
  std::string replaced(pid_t pid, std::uint32_t image) const {
    return base_ + "." + std::to_string(pid) + ".e" + std::to_string(image);
  }
  std::string of_gone(std::uint32_t number_in_namespace, std::uint32_t nth) const {
    return base_ + ".ns" + std::to_string(number_in_namespace) + "." + std::to_string(nth);
  }
  std::string container() const { return base_ + std::string(trace::kContainerSuffix); }
  // In the container; empty for the first process's trace, which stays a file of its own.
  std::string member(const std::string& trace_path) const {
    return trace_path.starts_with(base_ + ".") ? trace_path.substr(base_.size() + 1) : std::string();
  }

 private:
  pid_t first_process_;
  std::string base_;
};

}  // namespace tare::core
