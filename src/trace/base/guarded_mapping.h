// A mapping of a file that another process may truncate while it is read: bytes beyond the new end read as zeros and
// set is_cut(), instead of causing SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::trace {

class GuardedMapping {
 public:
  GuardedMapping() = default;
  // As mmap at an address of the kernel's choice; data() is null where that fails, with errno.
  GuardedMapping(std::size_t bytes, int protection, int flags, int fd, std::uint64_t offset);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  ~GuardedMapping();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // A page was read that the file doesn't have any more.
  bool is_cut() const;

  struct Range;  // the part that the signal handler reads

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Range* range_ = nullptr;
};

// For code that inherits signal dispositions: true if SIGBUS was ignored before the first mapping was made.
bool sigbus_was_ignored();

}  // namespace tare::trace
