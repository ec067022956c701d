// The growth of this process's resident memory since the object was made; 0 if the kernel doesn't report it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace tare::trace {

class ResidentGrowth {
 public:
  ResidentGrowth() : fd_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)), start_bytes_(resident_bytes()) {}
  ~ResidentGrowth() {
    if (fd_ >= 0) ::close(fd_);
  }
  ResidentGrowth(const ResidentGrowth&) = delete;
  ResidentGrowth& operator=(const ResidentGrowth&) = delete;

  std::uint64_t bytes() const {
    const std::uint64_t now = resident_bytes();
    return now > start_bytes_ ? now - start_bytes_ : 0;
  }

 private:
  // "TOTAL RESIDENT ...", in pages.
  std::uint64_t resident_bytes() const {
    char text[128];
    const ssize_t count = fd_ < 0 ? -1 : ::pread(fd_, text, sizeof text - 1, 0);
    if (count <= 0) return 0;
    text[count] = 0;
    char* end = nullptr;
    std::strtoull(text, &end, 10);
    return std::strtoull(end, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  int fd_;
  std::uint64_t start_bytes_;
};

}  // namespace tare::trace
