// The wrappers that the linker puts in the place of malloc and realloc.
#include "failing_malloc.h"

#include "tare/good_size.h"

extern "C" {
void* __real_malloc(std::size_t size);                // NOLINT(readability-identifier-naming): the linker's names
void* __real_realloc(void* block, std::size_t size);  // NOLINT(readability-identifier-naming)
void* __wrap_malloc(std::size_t size);                // NOLINT(readability-identifier-naming)
void* __wrap_realloc(void* block, std::size_t size);  // NOLINT(readability-identifier-naming)
}

namespace tare::testing {
namespace {

thread_local MallocCounts counts;
thread_local std::size_t failures_left = 0;

bool is_granted() {
  if (failures_left == 0) return true;
  --failures_left;
  return false;
}

}  // namespace

MallocCounts malloc_counts() { return counts; }
FailingMalloc::FailingMalloc(std::size_t failures) {
  static_cast<void>(good_size(1));  // asks the allocator for some blocks when it is first called: not in the count
  failures_left = failures;
}
FailingMalloc::~FailingMalloc() { failures_left = 0; }

}  // namespace tare::testing

extern "C" {
// The sanitizers' allocators abort where malloc returns null for impossible sizes, unless they are told.
__attribute__((visibility("default"))) const char* __asan_default_options();  // NOLINT(readability-identifier-naming)
__attribute__((visibility("default"))) const char* __tsan_default_options();  // NOLINT(readability-identifier-naming)
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

void* __wrap_malloc(std::size_t size) {
  ++tare::testing::counts.mallocs;
  return tare::testing::is_granted() ? __real_malloc(size) : nullptr;
}
void* __wrap_realloc(void* block, std::size_t size) {
  ++tare::testing::counts.reallocs;
  return tare::testing::is_granted() ? __real_realloc(block, size) : nullptr;
}
}
