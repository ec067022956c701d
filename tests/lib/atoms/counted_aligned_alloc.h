// aligned_alloc and free that keep account: for programs linked with --wrap=aligned_alloc and --wrap=free.
#pragma once

#include <cstddef>

namespace tare::testing {

// malloc_usable_size of all blocks that code outside of shared libraries got from aligned_alloc and still has.
std::size_t aligned_bytes();

// While one lives, aligned_alloc of this thread fails.
class FailingAlignedAlloc {
 public:
  FailingAlignedAlloc();
  ~FailingAlignedAlloc();
  FailingAlignedAlloc(const FailingAlignedAlloc&) = delete;
  FailingAlignedAlloc& operator=(const FailingAlignedAlloc&) = delete;
};

}  // namespace tare::testing
