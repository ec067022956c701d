// Locks the program's mappings one by one, as /proc/self/maps lists them.
#include "recorder/process/memory_locks.h"

#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "recorder/base/syscall.h"
#include "recorder/hooks/real.h"
#include "recorder/recorder.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

namespace {

struct Line {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  char path[512] = {};
};

std::uint64_t hex(const char*& at) {
  std::uint64_t value = 0;
  for (;; ++at) {
    if (*at >= '0' && *at <= '9')
      value = value << 4 | static_cast<std::uint64_t>(*at - '0');
    else if (*at >= 'a' && *at <= 'f')
      value = value << 4 | static_cast<std::uint64_t>(*at - 'a' + 10);
    else
      return value;
  }
}

// The lines of /proc/self/maps. Paths are cut off at the buffer's length.
class Maps {
 public:
  Maps() : fd_(sys::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Maps() {
    if (is_open()) sys::close(fd_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;
  bool is_open() const { return !sys::failed(fd_); }

  bool next(Line& line) {
    char text[640];
    std::uint32_t length = 0;
    while (true) {
      if (at_ == filled_) {
        const long got = sys::read(fd_, buffer_, sizeof(buffer_));
        if (got <= 0) return false;
        filled_ = static_cast<std::uint32_t>(got);
        at_ = 0;
      }
      const char next = buffer_[at_++];  // NOLINT(clang-analyzer-core.uninitialized.Assign): read() has written it
      if (next == '\n') break;
      if (length + 1 < sizeof(text)) text[length++] = next;
    }
    text[length] = '\0';
    const char* at = text;
    line.start = hex(at);
    if (*at++ != '-') return false;
    line.end = hex(at);
    const char* const path = std::strpbrk(at, "/[");
    line.path[0] = '\0';
    if (path != nullptr) std::strncpy(line.path, path, sizeof(line.path) - 1);
    return true;
  }

 private:
  long fd_;
  std::uint32_t at_ = 0;
  std::uint32_t filled_ = 0;
  char buffer_[1024];
};

// Mappings that aren't the program's: the library with its zeroed data behind it, spools, the launcher's page.
class OwnFiles {
 public:
  bool has(const Line& line) {
    const bool is_library = std::strstr(line.path, "/libtare-record.so") != nullptr;
    const bool is_its_data = line.path[0] == '\0' && line.start == library_end_;
    if (is_library || is_its_data) library_end_ = line.end;
    return is_library || is_its_data || recorder.is_own_file(line.path);
  }

 private:
  std::uint64_t library_end_ = 0;
};

// Calls use(start, end) for each part of the range that isn't the recorder's private memory.
template <typename Use>
void without_own_memory(std::uint64_t start, std::uint64_t end, Use use) {
  while (start < end) {
    std::uint64_t own_start = end;
    std::uint64_t own_end = end;
    for (const trace::OwnRange& range : own_ranges().ranges) {
      const std::uint64_t bytes = (range.bytes.load(std::memory_order_acquire) + 4095) & ~std::uint64_t{4095};
      if (bytes == 0 || range.start + bytes <= start || range.start >= own_start) continue;
      own_start = range.start;
      own_end = range.start + bytes;
    }
    if (own_start > start) use(start, own_start);
    start = own_end;
  }
}

template <typename Use>
bool for_programs_memory(Use use) {
  Maps maps;
  if (!maps.is_open()) return false;
  OwnFiles own;
  for (Line line; maps.next(line);) {
    if (line.path[0] == '[' && std::strcmp(line.path, "[vsyscall]") == 0) continue;  // no mapping
    if (!own.has(line)) without_own_memory(line.start, line.end, use);
  }
  return true;
}

bool may_lock_more_than_the_limit() {
  constexpr std::uint32_t kVersion = 0x20080522;
  constexpr std::uint32_t kIpcLock = 1u << 14;
  std::uint32_t header[2] = {kVersion, 0};
  std::uint32_t data[6] = {};
  return sys::call(SYS_capget, sys::word(header), sys::word(data)) == 0 && (data[0] & kIpcLock) != 0;
}

}  // namespace

int lock_programs_memory(int flags) {
  constexpr int kOnFault = 4;  // MCL_ONFAULT
  constexpr int kLockOnFault = 1;
  if ((flags & MCL_CURRENT) == 0 || (flags & ~(MCL_CURRENT | MCL_FUTURE | kOnFault)) != 0 || !recorder.alive()) {
    const int result = real.mlockall(flags);
    if (result == 0) keep_memory_unlocked((flags & MCL_FUTURE) != 0);
    return result;
  }
  std::uint64_t bytes = 0;
  const bool is_known = for_programs_memory([&](std::uint64_t start, std::uint64_t end) { bytes += end - start; });
  std::uint64_t limits[2] = {0, 0};
  sys::call(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, sys::word(limits));
  const bool within_limit = limits[0] != 0 && bytes <= limits[0];
  if (!is_known || (!within_limit && !may_lock_more_than_the_limit())) return real.mlockall(flags);  // refuses it

  // Sets the rule for later mappings and, beyond the limit, checks the permission; no page becomes resident.
  if (!within_limit) {
    if (const int result = real.mlockall(flags | kOnFault); result != 0) return result;
    sys::call(SYS_munlockall);
  } else if ((flags & MCL_FUTURE) == 0) {
    sys::call(SYS_munlockall);
  }
  if ((flags & MCL_FUTURE) != 0) {
    if (const int result = real.mlockall(flags & ~MCL_CURRENT); result != 0) return result;
  }
  keep_memory_unlocked((flags & MCL_FUTURE) != 0);
  // For inaccessible memory the kernel returns an error; mlockall doesn't.
  for_programs_memory([&](std::uint64_t start, std::uint64_t end) {
    sys::call(SYS_mlock2, static_cast<long>(start), static_cast<long>(end - start),
              (flags & kOnFault) != 0 ? kLockOnFault : 0);
  });
  return 0;
}

}  // namespace tare::recorder
