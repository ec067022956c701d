// Waits for the kernel's pressure stall information: /proc/pressure/memory, or a control group's.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tare/memory_pressure.h"

namespace tare::inline TARE_ABI {
namespace {

PressureError error_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EOPNOTSUPP:  // booted with psi=0
      return PressureError::NoPsi;
    case EACCES:
    case EPERM:
    case EROFS:
      return PressureError::NotPermitted;
    case EINVAL:
    case EBUSY:
      return PressureError::BadTrigger;
    default:
      return PressureError::NoMemory;
  }
}

// A trigger lives as long as the descriptor that it was written to.
PressureError open_trigger(const PressureTrigger& trigger, const char* whose, std::uint32_t stall_us, int& fd) {
  fd = ::open(trigger.path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return error_of(errno);
  char text[64];
  const int length = std::snprintf(text, sizeof text, "%s %u %u", whose, stall_us, trigger.window_us);
  const auto with_end = static_cast<std::size_t>(length) + 1;
  return ::write(fd, text, with_end) == static_cast<ssize_t>(with_end) ? PressureError::None : error_of(errno);
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

const char* describe(PressureError error) noexcept {
  switch (error) {
    case PressureError::None:
      return "no error";
    case PressureError::NoPsi:
      return "the kernel tells nothing of memory pressure: it needs version 4.20, CONFIG_PSI, and psi=1 where that "
             "isn't "
             "the default";
    case PressureError::NotPermitted:
      return "this user may not ask the kernel for memory pressure: see the permissions of its file";
    case PressureError::BadTrigger:
      return "the kernel refuses this stall or window: windows are 0.5 to 10 s, for most users multiples of 2 s, and "
             "the "
             "stall is shorter";
    case PressureError::NoMemory:
      return "there is no descriptor, thread or memory left to wait for memory pressure with";
    case PressureError::Running:
      break;
  }
  return "the monitor runs already";
}

PressureError PressureMonitor::start(PressureRegistry& registry, const PressureTrigger& trigger) {
  if (has_thread()) return PressureError::Running;
  stop();  // state inherited from a parent process
  PressureError error = open_trigger(trigger, "some", trigger.moderate_stall_us, moderate_fd_);
  if (error == PressureError::None && trigger.critical_stall_us != 0) {
    error = open_trigger(trigger, "full", trigger.critical_stall_us, critical_fd_);
  }
  if (error == PressureError::None) {
    stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
    registry_ = &registry;
    process_ = ::getpid();
    if (stop_fd_ < 0 || ::pthread_create(&thread_, nullptr, &PressureMonitor::run, this) != 0) {
      registry_ = nullptr;
      error = PressureError::NoMemory;
    }
  }
  if (error != PressureError::None) stop();
  return error;
}

bool PressureMonitor::has_thread() const noexcept { return registry_ != nullptr && process_ == ::getpid(); }

void PressureMonitor::stop() noexcept {
  if (has_thread()) {
    const std::uint64_t one = 1;
    while (::write(stop_fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    ::pthread_join(thread_, nullptr);
  }
  registry_ = nullptr;
  close_fd(moderate_fd_);
  close_fd(critical_fd_);
  close_fd(stop_fd_);
}

void* PressureMonitor::run(void* monitor) {
  const PressureMonitor& self = *static_cast<const PressureMonitor*>(monitor);
  pollfd fds[] = {{self.stop_fd_, POLLIN, 0}, {self.critical_fd_, POLLPRI, 0}, {self.moderate_fd_, POLLPRI, 0}};
  for (;;) {
    if (::poll(fds, 3, -1) < 0) {
      if (errno == EINTR) continue;
      return nullptr;
    }
    if (fds[0].revents != 0) return nullptr;
    const int seen = fds[1].revents | fds[2].revents;
    if ((seen & (POLLERR | POLLNVAL)) != 0) return nullptr;  // the control group is gone
    const bool is_critical = (fds[1].revents & POLLPRI) != 0;
    if ((seen & POLLPRI) != 0) self.registry_->relieve(is_critical ? PressureLevel::Critical : PressureLevel::Moderate);
  }
}

}  // namespace tare::inline TARE_ABI
