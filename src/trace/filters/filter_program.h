// A seccomp filter: checks that the kernel accepts it, and computes its answer to a system call.
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the kernel's
struct sock_filter;
struct seccomp_data;
// NOLINTEND(readability-identifier-naming)

namespace tare::trace {

// A filter's answer without its data, as the kernel compares them: of several filters the least answer holds.
using FilterAction = std::int32_t;

class FilterProgram {
 public:
  FilterProgram(const sock_filter* steps, std::uint32_t length) : steps_(steps), length_(length) {}

  // By the kernel's rules, except that it refuses loads of memory cells that nothing was stored in, too.
  bool is_valid() const;
  // The answer of a valid filter. Jumps lead forward only, so that it ends after `length` steps at most.
  FilterAction answer(const seccomp_data& data) const;

 private:
  std::uint32_t run(const seccomp_data& data) const;

  const sock_filter* steps_;
  std::uint32_t length_;
};

}  // namespace tare::trace
