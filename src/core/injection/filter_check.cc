// Evaluation of the filters in this process: see filter_check.h.
//
// While this process lives, the kernel doesn't apply the filters to the thread that it borrows. They apply to the rest
// of the loader's calls if it is killed, and to all later calls of the recorder.
#include "core/injection/filter_check.h"

#include <linux/audit.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "core/injection/target_check.h"
#include "trace/base/process_files.h"
#include "trace/filters/recorder_calls.h"

namespace tare::core {
namespace {

Error forbidden(pid_t pid, const std::string& why) {
  return {ErrorKind::CannotRecord, "the recorder can't be loaded into process " + std::to_string(pid) + ": " + why};
}

bool have_same_filters(pid_t pid) {
  std::optional<long> first;
  for (const pid_t tid : trace::thread_ids(pid)) {
    const std::string status = trace::read_process_file(pid, "task/" + std::to_string(tid) + "/status").value_or("");
    const std::optional<long> count = number_in_status(status, "Seccomp_filters");
    if (!first) first = count;
    if (count && count != first) return false;
  }
  return true;
}

}  // namespace

std::optional<int> refused_call(const std::vector<sock_filter>& filter) {
  const trace::FilterProgram program(filter.data(), static_cast<std::uint32_t>(filter.size()));
  if (!program.is_valid()) return -1;
  for (const std::span<const trace::FilteredCall> calls :
       {std::span<const trace::FilteredCall>(trace::kLoadingCalls),
        std::span<const trace::FilteredCall>(trace::kRecorderCalls)}) {
    for (const trace::FilteredCall& call : calls) {
      if (!trace::may_be_made(call, program.answer(trace::data_of(call, AUDIT_ARCH_X86_64)))) return call.number;
    }
  }
  return std::nullopt;
}

Status check_filters(pid_t pid, RemoteThread& thread) {
  if (!have_same_filters(pid)) return forbidden(pid, "its threads have different seccomp filters");
  for (std::size_t number = 0;; ++number) {
    std::vector<sock_filter> filter;
    if (!thread.read_filter(number, filter)) {
      if (errno == EACCES)
        return forbidden(pid,
                         "it confines itself by a seccomp filter, which only root may read, and only without a filter "
                         "of its own; attach as root");
      return forbidden(pid, std::string("its seccomp filters can't be read: ") + std::strerror(errno));
    }
    if (filter.empty()) return ok();
    const std::optional<int> refused = refused_call(filter);
    if (refused == -1) return forbidden(pid, "one of its seccomp filters has an unknown form");
    if (refused) {
      return forbidden(pid, "its seccomp filter would kill it for system call " + std::to_string(*refused) +
                                ", which recording needs; start it with the recorder (tare run), which prepares for "
                                "the filter");
    }
  }
}

}  // namespace tare::core
