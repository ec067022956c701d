// malloc and realloc that count, and fail on demand: for programs linked with --wrap=malloc and --wrap=realloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::testing {

struct MallocCounts {
  std::size_t mallocs = 0;
  std::size_t reallocs = 0;
};
MallocCounts malloc_counts();  // calls by code that isn't in a shared library, since the start

// While one lives, malloc and realloc of this thread fail, `failures` times at most.
class FailingMalloc {
 public:
  explicit FailingMalloc(std::size_t failures = SIZE_MAX);
  ~FailingMalloc();
  FailingMalloc(const FailingMalloc&) = delete;
  FailingMalloc& operator=(const FailingMalloc&) = delete;
};

}  // namespace tare::testing
