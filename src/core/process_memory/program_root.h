// The root directory of a process that may run in a container: another root, mount namespace or user namespace.
#pragma once

#include <sys/types.h>

#include <string>

namespace tare::core {

// "/proc/PID/root": leads through the process's mounts.
std::string root_of(pid_t pid);

// Its paths mean other files than this process's. False if that can't be read.
bool has_other_root(pid_t pid);

// While it lives, files are made as the process's user and group, if that has another user namespace: in the file
// systems of a namespace, users that it doesn't know can't make files. Of the calling thread alone.
class AsUserOf {
 public:
  explicit AsUserOf(pid_t pid);
  AsUserOf(const AsUserOf&) = delete;
  AsUserOf& operator=(const AsUserOf&) = delete;
  ~AsUserOf();

 private:
  bool changed_ = false;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

}  // namespace tare::core
