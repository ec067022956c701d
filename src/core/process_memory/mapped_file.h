// Which processes map a file. A file's name may contain any number; only a mapping proves which process uses it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare::core {

enum class Mapped : std::uint8_t {
  Yes,
  No,
  Unreadable,  // the process's mappings aren't ours to see
  Ended,       // there is no such process any more
};

class MappedFile {
 public:
  // For an existing file; a missing one has no mappings.
  explicit MappedFile(const std::string& path);

  // Compares inode and last name: other roots and mount namespaces change the path, overlay file systems the device.
  Mapped in(pid_t pid) const;
  // All that map it, this process left out.
  std::vector<pid_t> processes() const;

 private:
  bool is_in(std::string_view maps) const;  // text of /proc/PID/maps

  std::uint64_t inode_ = 0;
  std::string name_;
};

}  // namespace tare::core
