// Reads /proc/PID and the head of the executable: see target_check.h.
#include "core/injection/target_check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "trace/base/process_files.h"

namespace tare::core {
namespace {

Error refused(pid_t pid, const std::string& why) {
  return {ErrorKind::CannotRecord, "the recorder can't be loaded into process " + std::to_string(pid) + ": " + why};
}

std::string restriction() {
  const std::string text = trace::read_kernel_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (text.front() == '1')
    return "Yama lets only its ancestors trace it (kernel.yama.ptrace_scope is 1); attach as root";
  if (text.front() == '2') return "Yama lets only root trace it (kernel.yama.ptrace_scope is 2); attach as root";
  if (text.front() == '3') return "Yama forbids ptrace until the next boot (kernel.yama.ptrace_scope is 3)";
  return {};
}

}  // namespace

std::optional<long> number_in_status(std::string_view status, std::string_view field) {
  const std::size_t at = status.find("\n" + std::string(field) + ":");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view text = status.substr(at + field.size() + 2);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  long number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

Result<Filters> check_target(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const std::optional<std::string> status = trace::read_process_file(pid, "status");
  const std::optional<trace::ProcessStat> stat = trace::process_stat(pid);
  if (!status || !stat || stat->state == 'Z' || stat->state == 'X') return refused(pid, "it has ended");
  if (stat->state == 'T')
    return refused(pid, "it is stopped (SIGSTOP, Ctrl-Z); continue it first: kill -CONT " + std::to_string(pid));
  if (const long tracer = number_in_status(*status, "TracerPid").value_or(0); tracer != 0)
    return refused(pid, "process " + std::to_string(tracer) + " traces it (a debugger, strace); end that one first");
  std::ifstream file(process + "/exe", std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return refused(pid, "it is a thread of the kernel");
    return trace_refused(pid, errno);
  }
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
    return refused(pid, "it isn't a 64-bit x86 program");
  // Yama allows reading maps and auxv, and refuses memory: without this check, the process seems to have no loader.
  const int memory = ::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return trace_refused(pid, errno);
  ::close(memory);
  const long seccomp = number_in_status(*status, "Seccomp").value_or(0);
  if (seccomp == 1) return refused(pid, "it confines itself by seccomp's strict mode");
  return seccomp == 0 ? Filters::None : Filters::Some;
}

Status check_libc(pid_t pid, const LoadedObjects& objects) {
  if (objects.defining("gnu_get_libc_version") == nullptr) return refused(pid, "its C library isn't glibc");
  if (objects.address_of("dlopen") == 0 && objects.address_of("__libc_dlopen_mode") == 0)
    return refused(pid, "its C library has no dlopen");
  return ok();
}

Error trace_refused(pid_t pid, int error) {
  if (error == ESRCH) return refused(pid, "it has ended");
  struct stat process;
  const bool is_own = ::stat(("/proc/" + std::to_string(pid)).c_str(), &process) == 0 && process.st_uid == ::geteuid();
  if (!is_own && ::geteuid() != 0)
    return refused(pid, "it belongs to another user, or changed its user; attach as root");
  if (const std::string why = restriction(); !why.empty()) return refused(pid, why);
  return refused(pid, std::string(std::strerror(error)) +
                          " (another tracer holds it, or it may not be traced: missing capability SYS_PTRACE)");
}

Error no_loader(pid_t pid) {
  return refused(pid,
                 "it is linked statically, or is just starting; link it dynamically, or with the recorder in front");
}

}  // namespace tare::core
