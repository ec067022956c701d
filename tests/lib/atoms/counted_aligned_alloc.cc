#include "lib/atoms/counted_aligned_alloc.h"

#include <malloc.h>

#include <mutex>
#include <unordered_map>

namespace tare::testing {

namespace {

struct Account {
  std::mutex mutex;
  std::unordered_map<void*, std::size_t> blocks;
  std::size_t bytes = 0;
};

Account& account() {
  static auto* the_account = new Account;
  return *the_account;
}

thread_local bool is_failing = false;

}  // namespace

std::size_t aligned_bytes() {
  const std::lock_guard<std::mutex> lock(account().mutex);
  return account().bytes;
}

FailingAlignedAlloc::FailingAlignedAlloc() { is_failing = true; }
FailingAlignedAlloc::~FailingAlignedAlloc() { is_failing = false; }

extern "C" {

void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
void __real_free(void* block);

void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  void* block = is_failing ? nullptr : __real_aligned_alloc(alignment, size);
  if (block != nullptr) {
    const std::lock_guard<std::mutex> lock(account().mutex);
    account().blocks[block] = malloc_usable_size(block);
    account().bytes += malloc_usable_size(block);
  }
  return block;
}

void __wrap_free(void* block) {
  if (block != nullptr) {
    const std::lock_guard<std::mutex> lock(account().mutex);
    if (const auto found = account().blocks.find(block); found != account().blocks.end()) {
      account().bytes -= found->second;
      account().blocks.erase(found);
    }
  }
  __real_free(block);
}

}  // extern "C"

}  // namespace tare::testing
