// Checks if a recorded process still lives, child or not, and reads its exit status if the kernel has it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>

namespace tare::core {

struct ProcessEnd {
  std::optional<int> wait_status;  // only of our own children, born or adopted
  std::uint64_t peak_rss_bytes = 0;
  std::optional<int> seen_status;  // the same, or another's child as far as the kernel shows it
};

class ProcessWatch {
 public:
  // Opens no descriptor if the kernel's number for it would be `from` or higher. Then a new process that reuses the
  // number of a dead one counts as that one, unless a check came between.
  explicit ProcessWatch(pid_t pid, int from);
  // Of a process that is gone already.
  static ProcessWatch of_gone() { return ProcessWatch(); }
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch& operator=(ProcessWatch&& other) noexcept;
  ~ProcessWatch();

  pid_t pid() const { return pid_; }
  // Once it's over, that stays known; our own children are reaped by the call that finds it.
  bool over();
  // As over() last had it.
  bool is_over() const { return over_; }
  const ProcessEnd& end() const { return end_; }

 private:
  ProcessWatch() : over_(true) {}
  bool has_exited() const;
  std::optional<int> seen_status() const;

  pid_t pid_ = 0;
  int pidfd_ = -1;
  bool over_ = false;
  ProcessEnd end_;
};

// `ancestor` is its parent, or its parent's, and so on. False for one that is gone.
bool descends_from(pid_t pid, pid_t ancestor);

// Pids of this process's children, those adopted as subreaper and the dead ones included.
std::set<pid_t> own_children();

}  // namespace tare::core
