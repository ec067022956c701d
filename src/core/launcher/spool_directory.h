// The private directory of one recording, and in it the control file that programs wake the launcher by.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/process_memory/mapped_file.h"
#include "trace/base/guarded_mapping.h"
#include "trace/base/result.h"
#include "trace/spool/spool_layout.h"

namespace tare::core {

// Processes that went unrecorded for the same reason.
struct Unrecorded {
  std::uint32_t processes = 0;
  std::set<std::string> programs;
};
using UnrecordedByReason = std::map<std::string, Unrecorded>;

class SpoolDirectory {
 public:
  // In $TARE_SPOOL_PARENT if that's set; in /dev/shm; where that's missing, full or read-only in $TMPDIR; else in
  // `last_resort`. Io. A program of root may change its user. Its directory accepts files of all users who have its
  // name, which is random and lies in a directory that only root can list.
  static Result<SpoolDirectory> create(const std::string& last_resort);
  // Where a running process can use it. A process with another root or mount namespace has it in its own /dev/shm or
  // /tmp, reached by /proc/PID/root and kept by a descriptor: it stays reachable when the process has ended.
  static Result<SpoolDirectory> create_for(pid_t pid, const std::string& last_resort);
  SpoolDirectory(SpoolDirectory&& other) noexcept;
  ~SpoolDirectory();  // removes the directory if it's empty but for the control file, unless left behind

  const std::string& path() const { return path_; }
  // The same in the program's root.
  const std::string& path_in_program() const { return path_in_program_; }
  // The same as long as the program lives, for other processes in this one's namespaces.
  std::string path_for_others() const { return root_of_program_ + path_in_program_; }
  trace::LauncherControl& control() const { return *static_cast<trace::LauncherControl*>(control_.data()); }
  // By which processes of this recording are known: each maps it, asleep or awake.
  MappedFile control_file() const { return MappedFile(path_ + "/" + trace::kControlName); }
  // Names of spools there now, those of one process by age.
  std::vector<std::string> spools() const;
  // Returns and deletes users' requests: names and texts, see request_desk.h.
  std::vector<std::pair<std::string, std::string>> take_requests() const;
  // Stores bytes that don't fit into an answer in a file of the folder, and returns its name. The requester deletes it.
  // Replaces the file of an earlier request.
  Result<std::string> leave_bytes(const std::string& request, std::span<const std::uint8_t> bytes) const;
  // The answer to the request of that name.
  void leave_answer(const std::string& request, const std::string& text) const;
  // Leaves the table of foreign allocators for recorders that look for it. False: it can't be written, errno has the
  // reason.
  bool put_allocators(const std::string& table) const;
  // Takes the notices that processes left, and adds them to `all`.
  void take_notices(UnrecordedByReason& all) const;
  // Deletes those of a process, by its own number.
  void forget_notices_of(pid_t pid) const;
  // Deletes a spool, and keeps its name reserved: the recorder numbers the images of a process by the existing names.
  void retire(const std::string& name) const;
  // Deletes the names that retire() reserved for ended processes.
  void forget(const std::string& name) const;
  // Nothing of it is read any more: to programs it looks as if the launcher were dead, so that they stop recording when
  // their buffers are full, and new ones don't begin. The spools go with the directory.
  void abandon_spools();
  // Other programs go on writing in it.
  void leave_behind() { left_behind_ = true; }

 private:
  SpoolDirectory() = default;
  Status make_control();
  void forget_remains() const;

  std::string path_;
  std::string path_in_program_;
  std::string root_of_program_;  // "/proc/PID/root"; empty: it has this process's root
  int folder_fd_ = -1;           // with root_of_program_: the directory
  int parent_fd_ = -1;           // and the one that it was made in, of parent_bytes_ in path_in_program_
  std::size_t parent_bytes_ = 0;
  int control_fd_ = -1;  // holds the lock that marks the launcher as alive
  trace::GuardedMapping control_;
  bool left_behind_ = false;
  bool abandoned_ = false;
};

}  // namespace tare::core
