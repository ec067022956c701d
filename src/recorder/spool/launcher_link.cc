// Wakes the launcher and checks that it lives.
#include "recorder/spool/launcher_link.h"

#include <cstring>
#include <initializer_list>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "recorder/base/syscall.h"
#include "recorder/base/text.h"

namespace tare::recorder {

namespace {

LauncherLife life_by_lock(long fd) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (sys::failed(sys::call(SYS_fcntl, fd, F_GETLK, sys::word(&lock)))) return LauncherLife::Unknown;
  return lock.l_type == F_UNLCK ? LauncherLife::Dead : LauncherLife::Alive;
}

}  // namespace

LauncherLife LauncherLink::connect(const char* directory) {
  if (before_ != nullptr) sys::munmap(before_, sizeof(trace::LauncherControl));
  before_ = control_;
  control_ = nullptr;
  Text path(path_, sizeof(path_));
  path.add(directory).add("/").add(trace::kControlName);
  if (path.overflowed()) return LauncherLife::Unknown;
  const long fd = sys::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (sys::failed(fd)) return LauncherLife::Unknown;
  const LauncherLife life = life_by_lock(fd);
  std::uint64_t size = 0;
  const long end = sys::call(SYS_lseek, fd, 0, SEEK_END);
  if (!sys::failed(end)) size = static_cast<std::uint64_t>(end);
  if (size >= sizeof(trace::LauncherControl)) {
    const long page = sys::mmap(nullptr, sizeof(trace::LauncherControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!sys::failed(page)) control_ = reinterpret_cast<trace::LauncherControl*>(page);
  }
  sys::close(fd);
  if (control_ != nullptr && std::memcmp(control_->magic, "TARECTL\n", sizeof(control_->magic)) != 0) {
    sys::munmap(control_, sizeof(trace::LauncherControl));
    control_ = nullptr;
  }
  return control_ == nullptr ? LauncherLife::Unknown : life;
}

void LauncherLink::wake() {
  if (control_ == nullptr) return;
  control_->wake.fetch_add(1, std::memory_order_acq_rel);
  if (control_->sleeping.load(std::memory_order_acquire) == 0) return;
  constexpr int kFutexWake = 1;  // not FUTEX_PRIVATE: the sleeper is another process
  sys::call(SYS_futex, sys::word(&control_->wake), kFutexWake, 1);
}

bool LauncherLink::replace_page(std::uint64_t address) {
  for (trace::LauncherControl* const page : {control_, before_}) {
    if (page == nullptr || address - reinterpret_cast<std::uint64_t>(page) >= sizeof(*page)) continue;
    replace_shared_page(page);
    return true;
  }
  return false;
}

bool LauncherLink::count_unrecorded() {
  if (control_ != nullptr) control_->unrecorded.fetch_add(1, std::memory_order_relaxed);
  return control_ != nullptr;
}

LauncherLife LauncherLink::life() const {
  if (control_ == nullptr) return LauncherLife::Unknown;
  const long fd = sys::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (sys::failed(fd)) return LauncherLife::Unknown;
  const LauncherLife life = life_by_lock(fd);
  sys::close(fd);
  return life;
}

bool LauncherLink::has_ended() const {
  if (control_ == nullptr) return false;
  const long fd = sys::open(path_, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (!sys::failed(fd)) sys::close(fd);
  return fd == -ENOENT;
}

bool LauncherLink::is_stopped() const {
  const char now = state();
  return now == 'T' || now == 't';
}

char LauncherLink::state() const {
  if (control_ == nullptr) return 0;
  char buffer[128];
  Text path(buffer, sizeof(buffer));
  path.add("/proc/").add_number(control_->launcher_pid).add("/stat");
  const long fd = sys::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (sys::failed(fd)) return 0;
  const long got = sys::read(fd, buffer, sizeof(buffer));
  sys::close(fd);
  // "PID (NAME) STATE ...", and a name may hold anything.
  for (long at = sys::failed(got) ? 0 : got; at >= 3; --at) {
    if (buffer[at - 3] == ')') return buffer[at - 1];
  }
  return 0;
}

}  // namespace tare::recorder
