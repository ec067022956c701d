// A file being written, at its end or in its midst: the first failure stays, and removes it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace tare::core {

class OutputFile {
 public:
  explicit OutputFile(std::string path)
      : path_(std::move(path)), fd_(open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600)) {
    if (fd_ < 0) errno_ = errno;
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (fd_ < 0) return;
    struct stat facts;
    const bool is_ours = fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode);  // a device must stay
    close(fd_);
    if (errno_ != 0 && is_ours) unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  int error_number() const { return errno_; }  // 0: all was written

  // Gives where it lies.
  std::uint64_t append(const void* data, std::size_t bytes) {
    const std::uint64_t at = size_;
    put(data, bytes, at);
    size_ += bytes;
    return at;
  }

  void put(const void* data, std::size_t bytes, std::uint64_t at) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0 && errno_ == 0) {
      const ssize_t done = pwrite(fd_, next, bytes, static_cast<off_t>(at));
      if (done < 0) {
        if (errno != EINTR) errno_ = errno;
        continue;
      }
      next += done;
      at += static_cast<std::uint64_t>(done);
      bytes -= static_cast<std::size_t>(done);
    }
  }

 private:
  std::string path_;
  int fd_;
  int errno_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tare::core
