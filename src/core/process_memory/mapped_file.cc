// Looks for a file among the mappings of processes: see mapped_file.h.
#include "core/process_memory/mapped_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "core/process_memory/memory_map.h"
#include "trace/base/process_files.h"

namespace tare::core {
namespace {

// "FOLDER/NAME", or "FOLDER/NAME (deleted)".
bool has_name(std::string_view path, std::string_view name) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path.size() > name.size() && path.ends_with(name) && path[path.size() - name.size() - 1] == '/';
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : name_(path.substr(path.rfind('/') + 1)) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) inode_ = status.st_ino;
}

Mapped MappedFile::in(pid_t pid) const {
  const std::optional<std::string> text = trace::read_process_file(pid, "maps");
  if (!text) return errno == EACCES || errno == EPERM ? Mapped::Unreadable : Mapped::Ended;
  if (text->empty()) return Mapped::Ended;  // a zombie: its parent hasn't waited for it
  if (is_in(*text)) return Mapped::Yes;
  // The kernel cuts the text short if the process ends while it is read: then there is none any more.
  const std::optional<std::string> again = trace::read_process_file(pid, "maps");
  return again && !again->empty() ? Mapped::No : Mapped::Ended;
}

bool MappedFile::is_in(std::string_view maps) const {
  if (inode_ == 0) return false;
  for (const MappedRange& mapped : parse_memory_map(maps)) {
    if (mapped.inode == inode_ && has_name(mapped.name, name_)) return true;
  }
  return false;
}

std::vector<pid_t> MappedFile::processes() const {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{} || pid == ::getpid()) continue;
    const std::optional<std::string> text = trace::read_process_file(pid, "maps");
    if (text && is_in(*text)) pids.push_back(pid);
  }
  return pids;
}

}  // namespace tare::core
