// Calls in a running process that nobody prepared: a thread is found that may call the loader, and is borrowed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/injection/loaded_objects.h"
#include "core/injection/remote_thread.h"
#include "trace/base/result.h"

namespace tare::core {

class Injector {
 public:
  // Waits for a limited time for a thread outside the allocator and the loader. CannotRecord, with the reason, if the
  // process can't be traced, has no such thread, or has seccomp filters that the recorder can't work under.
  static Result<Injector> begin(pid_t pid);
  Injector(Injector&& other) noexcept = default;

  // dlopen() of a path that is valid in the process; symbols are bound now and are visible to all. An empty path: the
  // executable. Returns the handle.
  Result<std::uint64_t> load(const std::string& path);
  // The same of a file of this process, whatever the process's root is: a copy in memory under `name`.
  Result<std::uint64_t> load_copy(const std::string& file, const std::string& name);
  Result<std::uint64_t> call(std::uint64_t function, std::uint64_t argument) {
    return thread_.call(function, argument);
  }

  // Calls a function of the recorder with each seccomp filter of the thread, which begin() has checked. Ok if the
  // process has none.
  Status announce_filters(std::uint64_t function);

 private:
  Injector(pid_t pid, RemoteThread thread) : pid_(pid), thread_(std::move(thread)) {}
  Status remember_errno(std::uint64_t location_function);
  std::string loader_error();

  pid_t pid_;
  bool has_filters_ = false;
  RemoteThread thread_;
  std::uint64_t dlopen_ = 0;
  std::uint64_t dlopen_flags_ = 0;
  std::uint64_t dlerror_ = 0;  // 0: none
  std::uint64_t syscall_ = 0;
  std::uint64_t errno_at_ = 0;
};

}  // namespace tare::core
