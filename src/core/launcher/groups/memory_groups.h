// The control groups that limit a process's memory, in version 1 and 2: where they are, their kills and their limits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare::core {

// Kills for lack of memory that a group has counted, or the machine.
struct KillCount {
  std::uint64_t kills = 0;
  std::uint64_t inode = 0;  // of the group's folder: one that was made anew under its name has another. 0: the machine

  bool operator==(const KillCount&) const = default;
};

class MemoryGroups {
 public:
  // `root`: of a made-up machine in tests, without a slash at its end.
  explicit MemoryGroups(std::string root = {});

  // The folder of the group that limits the process's memory. Empty: it isn't visible from here, or the process is
  // ending: then the kernel may show it in another group.
  std::string of_process(pid_t pid) const;
  // The group and, in version 2, those above it: only version 2 counts kills in groups below.
  std::vector<std::string> with_parents(const std::string& folder) const;
  // Nothing: the group is gone, or the kernel has no such counter.
  std::optional<KillCount> kills(const std::string& folder) const;
  // Of the whole machine since its start.
  std::optional<KillCount> machine_kills() const;
  // The lowest of the group and of those above it; 0: none.
  std::uint64_t limit_bytes(const std::string& folder) const;
  // The bytes that the group can still be charged with before the kernel kills: the lowest of the group and of those
  // above it. Files' pages that the kernel can drop count as free. Nothing: there is no limit, or no figure.
  std::optional<std::uint64_t> free_bytes(const std::string& folder) const;
  // It was killed and hasn't ended yet.
  bool is_dying(pid_t pid) const;

 private:
  struct Mount {
    std::string folder;
    std::string group;  // the one that is mounted there
    int version;
  };

  std::string path_of(pid_t pid, std::string_view name) const;
  std::string folder_of(int version, const std::string& group) const;
  const Mount* mount_of(const std::string& folder) const;
  // The group and those above it, in both versions.
  std::vector<std::string> limiting(const std::string& folder, const Mount& mount) const;

  std::string root_;
  std::vector<Mount> mounts_;
};

}  // namespace tare::core
