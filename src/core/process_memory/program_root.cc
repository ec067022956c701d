// Compares roots and namespaces by what the kernel shows of them in /proc: see program_root.h.
#include "core/process_memory/program_root.h"

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tare::core {
namespace {

// Device and inode of what a link in /proc leads to.
bool leads_elsewhere(const std::string& link, const std::string& own) {
  struct stat there, here;
  if (::stat(link.c_str(), &there) != 0 || ::stat(own.c_str(), &here) != 0) return false;
  return there.st_dev != here.st_dev || there.st_ino != here.st_ino;
}

bool has_other(pid_t pid, const char* name) {
  return leads_elsewhere("/proc/" + std::to_string(pid) + "/ns/" + name, std::string("/proc/self/ns/") + name);
}

}  // namespace

std::string root_of(pid_t pid) { return "/proc/" + std::to_string(pid) + "/root"; }

bool has_other_root(pid_t pid) { return has_other(pid, "mnt") || leads_elsewhere(root_of(pid) + "/", "/"); }

AsUserOf::AsUserOf(pid_t pid) {
  struct stat process;
  if (!has_other(pid, "user") || ::stat(("/proc/" + std::to_string(pid)).c_str(), &process) != 0) return;
  group_ = static_cast<gid_t>(::setfsgid(process.st_gid));
  user_ = static_cast<uid_t>(::setfsuid(process.st_uid));
  changed_ = true;
}

AsUserOf::~AsUserOf() {
  if (!changed_) return;
  ::setfsuid(user_);
  ::setfsgid(group_);
}

}  // namespace tare::core
