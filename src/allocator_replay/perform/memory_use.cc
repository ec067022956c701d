#include "allocator_replay/perform/memory_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace tare::perform {
namespace {

// A line of /proc/self/status, "VmHWM:	    1234 kB", in bytes.
std::uint64_t status_bytes(const char* name) {
  char text[4096];
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* const line = std::strstr(text, name);
  return line == nullptr ? 0 : std::strtoull(line + std::strlen(name), nullptr, 10) * 1024;
}

}  // namespace

std::uint64_t resident_bytes() { return status_bytes("\nVmRSS:"); }
std::uint64_t peak_resident_bytes() { return status_bytes("\nVmHWM:"); }

}  // namespace tare::perform
