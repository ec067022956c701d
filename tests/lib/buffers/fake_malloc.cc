// An allocator nobody knows, preloaded by good_size_test: a bump allocator with classes of its own (multiples of 40,
// from 1000 on powers of three times 8) and no function that tells good sizes. It frees nothing.
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t kHeader = 16;

std::size_t class_of(std::size_t n) {
  if (n <= 1000) return n == 0 ? 40 : (n + 39) / 40 * 40;
  std::size_t size = 8;
  while (size < n) size *= 3;
  return size;
}

std::size_t size_of(void* block) { return *reinterpret_cast<std::size_t*>(static_cast<char*>(block) - kHeader); }

void* take(std::size_t n) {
  static std::atomic<char*> next{nullptr};
  constexpr std::size_t kReserved = std::size_t{1} << 36;
  if (next.load() == nullptr) {
    void* mapped = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* nothing = nullptr;
    next.compare_exchange_strong(nothing, static_cast<char*>(mapped));
  }
  const std::size_t size = class_of(n);
  char* block = next.fetch_add(static_cast<std::ptrdiff_t>((size + kHeader + 15) / 16 * 16)) + kHeader;
  *reinterpret_cast<std::size_t*>(block - kHeader) = size;
  return block;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void* malloc(std::size_t n) { return take(n); }
__attribute__((visibility("default"))) void free(void*) {}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t n) { return take(count * n); }
__attribute__((visibility("default"))) void* realloc(void* old, std::size_t n) {
  void* block = take(n);
  if (old != nullptr && block != nullptr) std::memcpy(block, old, size_of(old) < n ? size_of(old) : n);
  return block;
}
__attribute__((visibility("default"))) std::size_t malloc_usable_size(void* block) {
  return block != nullptr ? size_of(block) : 0;
}
}
