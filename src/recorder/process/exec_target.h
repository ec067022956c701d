// The program that this process is about to become, or to start: can it be recorded? If LD_PRELOAD would harm it (a
// sanitizer's allocator must come first, a 32-bit loader complains about a 64-bit library), the recorder is removed
// from it. If it can't be loaded, a notice says so.
//
// Runs before every exec, and takes about 10 us of the kernel's 500. It may run in the child of a vfork, in its
// parent's memory: no allocation, no libc state.
#pragma once

#include <cstdint>

#include "recorder/base/notice.h"

namespace tare::recorder {

class ExecTarget {
 public:
  // `file`: a path. For scripts, the interpreter is checked.
  static ExecTarget at_path(const char* file) { return ExecTarget(file); }
  // As execvp and posix_spawnp find it.
  static ExecTarget in_search_path(const char* file);
  static ExecTarget of_descriptor(int fd);

  // Words that the changed environment takes; 0: `environment` stays as it is. Leaves the notice.
  std::uint64_t prepare(char* const* environment);
  // Its copy without this library, in `words` as sized by prepare(): the pointers, then the one string that changes.
  char* const* environment_in(char** words, char* const* environment) const;
  // It wasn't executed.
  void take_back() { notice_.take_back(); }

 private:
  enum class Preload : std::uint8_t { Keep, Drop };

  ExecTarget() = default;
  explicit ExecTarget(const char* file);
  void inspect(int fd, const char* name);

  const char* reason_ = nullptr;  // why it can't be recorded
  Preload preload_ = Preload::Keep;
  Notice notice_;
  char name_[64] = {};
};

}  // namespace tare::recorder
