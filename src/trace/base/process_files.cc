// Reads the kernel's files about processes: see process_files.h.
#include "trace/base/process_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace tare::trace {

std::optional<std::string> read_kernel_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  // One read of /proc/PID/maps yields at most 4 KiB, one of a cgroup file all of it.
  constexpr std::size_t kStepBytes = 16 * 1024;
  std::string text;
  ssize_t got;
  do {
    const std::size_t size = text.size();
    text.resize(size + kStepBytes);
    got = ::read(file, text.data() + size, kStepBytes);
    text.resize(size + (got > 0 ? static_cast<std::size_t>(got) : 0));
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int error = errno;
  ::close(file);
  errno = error;
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::string> read_process_file(pid_t pid, std::string_view name) {
  return read_kernel_file("/proc/" + std::to_string(pid) + "/" + std::string(name));
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(") ");  // "PID (NAME) STATE PARENT ..."
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text.size() < 3 || text[1] != ' ') return std::nullopt;
  ProcessStat stat{text[0], 0};
  if (std::from_chars(text.data() + 2, text.data() + text.size(), stat.parent).ec != std::errc{}) return std::nullopt;
  return stat;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::optional<std::string> text = read_process_file(pid, "stat");
  return text ? parse_process_stat(*text) : std::nullopt;
}

std::optional<ProcessStat> thread_stat(pid_t pid, pid_t tid) {
  const std::optional<std::string> text = read_process_file(pid, "task/" + std::to_string(tid) + "/stat");
  return text ? parse_process_stat(*text) : std::nullopt;
}

std::vector<pid_t> thread_ids(pid_t pid) {
  std::vector<pid_t> ids;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    ids.push_back(static_cast<pid_t>(std::strtol(task.path().filename().c_str(), nullptr, 10)));
  }
  return ids;
}

}  // namespace tare::trace
