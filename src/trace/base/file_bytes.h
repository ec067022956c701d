// Reading at offsets, whole or not at all. pread rather than a mapping: a file cut short under us is then an error, not
// SIGBUS.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "trace/base/result.h"

namespace tare::trace {

// Opens a regular file for reading; -1 with errno, which is EINVAL for other kinds of files. A path may come from a
// file: opening a pipe would wait for a writer, a device may act.
inline int open_regular(const char* path) {
  struct stat facts = {};
  if (::stat(path, &facts) != 0) return -1;
  if (!S_ISREG(facts.st_mode)) {
    errno = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    return -1;
  }
  return ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Of the failed call just before: errno is read.
inline Error unreadable(const std::string& path) {
  return {ErrorKind::Io, "cannot read " + path + ": " + std::strerror(errno) + "; check the path and its permissions"};
}

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
