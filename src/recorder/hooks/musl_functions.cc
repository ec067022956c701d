// musl binds its own calls within the library, save those of malloc and its kind: calloc calls the program's malloc,
// and memalign, posix_memalign and valloc the program's aligned_alloc.
#include "recorder/hooks/musl_functions.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "recorder/base/address.h"

namespace tare::recorder {
namespace {

bool is_zero(const char* page) {
  for (std::size_t at = 0; at < kPage; at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, page + at, sizeof word);
    if (word != 0) return false;
  }
  return true;
}

// Pages of zeros are read and not written, as musl does: reading one that was never touched takes no memory.
void clear(char* block, std::size_t bytes) {
  const std::size_t head = (kPage - (reinterpret_cast<std::uintptr_t>(block) & (kPage - 1))) & (kPage - 1);
  if (bytes <= head + kPage) {
    std::memset(block, 0, bytes);
    return;
  }
  std::memset(block, 0, head);
  std::size_t at = head;
  for (; bytes - at >= kPage; at += kPage) {
    if (!is_zero(block + at)) std::memset(block + at, 0, kPage);
  }
  std::memset(block + at, 0, bytes - at);
}

void* calloc_by_malloc(std::size_t count, std::size_t bytes) {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const block = real.malloc(total);
  if (block != nullptr) clear(static_cast<char*>(block), total);
  return block;
}

int posix_memalign_by_aligned_alloc(void** block, std::size_t align, std::size_t bytes) {
  if (align < sizeof(void*)) return EINVAL;
  void* const found = real.aligned_alloc(align, bytes);
  if (found == nullptr) return errno;
  *block = found;
  return 0;
}

void* valloc_by_aligned_alloc(std::size_t bytes) { return real.aligned_alloc(kPage, bytes); }

void* pvalloc_by_aligned_alloc(std::size_t bytes) {
  std::size_t rounded;
  if (__builtin_add_overflow(bytes, kPage - 1, &rounded)) {
    errno = ENOMEM;
    return nullptr;
  }
  return real.aligned_alloc(kPage, rounded & ~(kPage - 1));
}

}  // namespace

void use_musl_functions(RealFunctions& functions) {
  functions.calloc = calloc_by_malloc;
  functions.memalign = functions.aligned_alloc;
  functions.posix_memalign = posix_memalign_by_aligned_alloc;
  functions.valloc = valloc_by_aligned_alloc;
  functions.pvalloc = pvalloc_by_aligned_alloc;
  if (functions.mmap64 == nullptr) functions.mmap64 = functions.mmap;  // from musl 1.2.4 on
  if (functions.__sysv_signal == nullptr) functions.__sysv_signal = functions.signal;
}

}  // namespace tare::recorder
