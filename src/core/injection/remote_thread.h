// One thread of another process, stopped by ptrace, in which functions are called as if it had called them itself. Its
// other threads run on. When the object ends, the thread continues as if it had never been stopped. It does so as well
// if this process is killed at any time: see detour.h.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/result.h"

namespace tare::core {

class RemoteThread {
 public:
  // std::nullopt: it is gone, or can't be traced. `error`: why it can't be traced; 0 otherwise.
  static std::optional<RemoteThread> stop(pid_t pid, pid_t tid, int& error);
  RemoteThread(RemoteThread&& other) noexcept;
  RemoteThread& operator=(RemoteThread&&) = delete;
  ~RemoteThread();

  // As it was when it stopped.
  const user_regs_struct& registers() const { return saved_; }

  // Leads the thread onto a detour in `gap` (see find_code_gap()). It gets another stack and no signals. The kernel
  // doesn't apply its seccomp filters if `suspend_filters`: only the superuser may do that.
  Status borrow(std::uint64_t gap, bool suspend_filters);
  // The result of a function of the process.
  Result<std::uint64_t> call(std::uint64_t function, std::uint64_t first = 0, std::uint64_t second = 0,
                             std::uint64_t third = 0);
  // The thread's errno, as it will be afterwards.
  Status keep_errno(std::uint64_t at, int value);
  // Memory for arguments, until the next call of it; the second leaves the first one's bytes as they are.
  Result<std::uint64_t> put(const void* bytes, std::size_t count) { return put_at(0, bytes, count); }
  Result<std::uint64_t> put_behind(const void* bytes, std::size_t count) { return put_at(kSecondPlace, bytes, count); }
  // A seccomp filter, the newest first; empty behind the last. False, with errno set, if it may not be read.
  bool read_filter(std::size_t number, std::vector<sock_filter>& program);

 private:
  static constexpr std::uint64_t kSecondPlace = 64 << 10;

  RemoteThread(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {}
  bool is_on_earlier_detour(std::uint64_t gap) const;
  Status start_detour(std::uint64_t gap);
  // Until a stop at one of two places in the code; 0 as a place: none. `calls` have returned then.
  Status run_to(std::uint64_t place, std::uint64_t other_place, std::uint64_t& stopped_at);
  Status resume_until_stop(int& status);
  Result<std::uint64_t> put_at(std::uint64_t place, const void* bytes, std::size_t count);
  bool write_gap(const std::vector<std::uint64_t>& words);
  bool write_control(std::size_t offset, const void* bytes, std::size_t count);
  void give_back();
  Error ended() const;

  pid_t pid_;
  pid_t tid_;
  bool is_held_ = true;
  bool is_borrowed_ = false;
  user_regs_struct saved_{};
  std::uint64_t signals_ = 0;   // blocked ones
  std::vector<int> postponed_;  // signals that arrived meanwhile
  std::uint64_t gap_ = 0;
  std::vector<std::uint64_t> before_;  // the gap's contents
  std::uint64_t area_ = 0;
  std::uint64_t calls_ = 0;
  bool is_at_end_ = false;
};

}  // namespace tare::core
