// Preloaded into a bench program: counts the calls that take memory and the bytes they were given, of all its code. A
// run of its own, for counting costs time.
#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "counted_mallocs.h"

namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> bytes{0};

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// gperftools makes an object when it is first asked for a size, by operator new: which came by here, and so on.
constinit thread_local bool is_counting [[gnu::tls_model("initial-exec")]] = false;

void* counted(void* block) {
  if (is_counting) return block;
  is_counting = true;
  calls.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(malloc_usable_size(block), std::memory_order_relaxed);
  is_counting = false;
  return block;
}

}  // namespace

#define TARE_EXPORT __attribute__((visibility("default")))

extern "C" {
TARE_EXPORT CountedMallocs tare_counted_mallocs() { return {calls.load(), bytes.load()}; }

TARE_EXPORT void* malloc(std::size_t size) {
  static auto* const real = next<void* (*)(std::size_t)>("malloc");
  return counted(real(size));
}
TARE_EXPORT void* realloc(void* block, std::size_t size) {
  static auto* const real = next<void* (*)(void*, std::size_t)>("realloc");
  return counted(real(block, size));
}
TARE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* const real = next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  return counted(real(alignment, size));
}
}

// Allocators have operators of their own, which wouldn't come by here.
TARE_EXPORT void* operator new(std::size_t size) {
  if (void* block = malloc(size)) return block;
  std::abort();
}
TARE_EXPORT void* operator new[](std::size_t size) { return operator new(size); }
TARE_EXPORT void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* block = aligned_alloc(static_cast<std::size_t>(alignment), size)) return block;
  std::abort();
}
