// A mapping of a file that others may cut short while we read it: what lies beyond its new end reads as zeros, and
// is_cut() says so, where it would be SIGBUS.
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
  // A page of it was looked at that the file doesn't have any more.
  bool is_cut() const;

  struct Range;  // what the signal's handler knows of it

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Range* range_ = nullptr;
};

// Where a signal's disposition is inherited: whether SIGBUS was ignored before the first of these was made.
bool sigbus_was_ignored();

}  // namespace tare::trace
