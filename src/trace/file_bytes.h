// Reading at offsets, whole or not at all. pread rather than a mapping: a file cut short under us is then an error, not
// SIGBUS.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tare::trace {

// Bytes read, fewer than `count` only at the end of the file; -1 with errno.
inline std::int64_t read_at(int fd, void* to, std::size_t count, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::pread(fd, static_cast<char*>(to) + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

}  // namespace tare::trace
