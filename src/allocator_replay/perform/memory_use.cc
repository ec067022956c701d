#include "allocator_replay/perform/memory_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tare::perform {
namespace {

constexpr const char* kStatus = "/proc/self/status";
// The number of pages that a thread may map or unmap before the kernel adds them to the process's counters
// (TASK_RSS_EVENTS_THRESH; since Linux 6.2 a batch of each processor, which is smaller up to four processors).
constexpr std::uint64_t kMostUncountedPages = 64;

// A line such as "VmHWM:	    1234 kB", in bytes; 0: not found.
std::uint64_t line_bytes(const char* path, const char* name) {
  char text[4096];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* const line = std::strstr(text, name);
  return line == nullptr ? 0 : std::strtoull(line + std::strlen(name), nullptr, 10) * 1024;
}

}  // namespace

std::uint64_t resident_bytes() { return line_bytes(kStatus, "\nVmRSS:"); }

ExactUse exact_use() {
  const char* const rollup = "/proc/self/smaps_rollup";
  const std::uint64_t resident = line_bytes(rollup, "\nRss:");
  if (resident == 0) return {resident_bytes(), resident_bytes()};  // a kernel before 4.14
  return {resident, line_bytes(rollup, "\nAnonymous:")};
}

std::uint64_t peak_heap_bytes(std::uint64_t threads, const ExactUse& before, std::uint64_t seen) {
  const ExactUse now = exact_use();
  const auto above = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
  const std::uint64_t no_heap =
      above(now.resident_bytes - now.anonymous_bytes, before.resident_bytes - before.anonymous_bytes);
  const std::uint64_t error = kMostUncountedPages * threads * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t peak = above(line_bytes(kStatus, "\nVmHWM:"), before.resident_bytes + no_heap + error);
  return std::max({seen, above(now.anonymous_bytes, before.anonymous_bytes), peak});
}

}  // namespace tare::perform
