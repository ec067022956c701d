// Life and end of a process: see process_watch.h.
#include "core/launcher/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "trace/base/process_files.h"

namespace tare::core {

ProcessWatch::ProcessWatch(pid_t pid, int from) : pid_(pid) {
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));  // close-on-exec by itself; fails before Linux 5.3
  if (pidfd_ >= from) ::close(std::exchange(pidfd_, -1));
}

ProcessWatch::ProcessWatch(ProcessWatch&& other) noexcept
    : pid_(other.pid_), pidfd_(std::exchange(other.pidfd_, -1)), over_(other.over_), end_(other.end_) {}

ProcessWatch& ProcessWatch::operator=(ProcessWatch&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(over_, other.over_);
  std::swap(end_, other.end_);
  return *this;
}

ProcessWatch::~ProcessWatch() {
  if (pidfd_ >= 0) ::close(pidfd_);
}

bool ProcessWatch::has_exited() const {
  if (pidfd_ < 0) return ::kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd waiting{pidfd_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Until its parent has waited for it, /proc shows the status to those who may trace it. From Linux 6.15 on, the pidfd
// does afterwards.
std::optional<int> ProcessWatch::seen_status() const {
  constexpr std::size_t kStatusField = 49;  // after "PID (NAME) "
  const std::string stat = trace::read_process_file(pid_, "stat").value_or("");
  if (const std::size_t name_end = stat.rfind(") "); name_end != std::string::npos) {
    std::istringstream fields(stat.substr(name_end + 2));
    std::string field;
    for (std::size_t i = 0; i < kStatusField; ++i) fields >> field;
    if (int status = 0; stat[name_end + 2] == 'Z' && fields >> status && status != 0) return status;
  }
  struct PidfdInfo {  // struct pidfd_info of Linux 6.15, which headers of other versions don't have
    std::uint64_t mask;
    std::uint64_t others[6];
    std::uint32_t other;
    std::int32_t exit_code;
  };
  static_assert(sizeof(PidfdInfo) == 64);
  constexpr std::uint64_t kExit = 8;
  PidfdInfo info{};
  info.mask = kExit;
  if (pidfd_ < 0 || ::ioctl(pidfd_, _IOWR(0xFF, 11, PidfdInfo), &info) != 0 || (info.mask & kExit) == 0) return {};
  return info.exit_code;
}

bool ProcessWatch::over() {
  if (over_) return true;
  int status = 0;
  rusage usage{};
  // Without a pidfd, kill() succeeds for a zombie child of the launcher: check for that first.
  const bool exited = has_exited();
  if (!exited && pidfd_ >= 0) return false;
  const pid_t reaped = ::wait4(pid_, &status, WNOHANG | __WALL, &usage);
  if (reaped == pid_) {
    end_.wait_status = status;
    end_.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    over_ = true;
    end_.seen_status = status;
  } else if (exited) {
    end_.seen_status = seen_status();
    over_ = true;
  }
  if (over_ && pidfd_ >= 0) ::close(std::exchange(pidfd_, -1));
  return over_;
}

bool descends_from(pid_t pid, pid_t ancestor) {
  while (pid > 1) {
    const std::optional<trace::ProcessStat> stat = trace::process_stat(pid);
    if (!stat) return false;
    pid = stat->parent;
    if (pid == ancestor) return true;
  }
  return false;
}

std::set<pid_t> own_children() {
  std::set<pid_t> children;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid; list >> pid;) children.insert(pid);
  }
  return children;
}

}  // namespace tare::core
