// Pages of Linux: mmap, mprotect, madvise, mincore.
#ifndef __linux__
#error "system_pages: only Linux is known; another system gets a file of its own"
#endif

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "lib/cage/system_pages.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace tare::inline TARE_ABI::system_pages {

namespace {

constexpr int kReservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::byte* reserve(std::size_t size_bytes) noexcept {
  void* got = mmap(nullptr, size_bytes, PROT_NONE, kReservation, -1, 0);
  return got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
}

bool reserve_at(std::uintptr_t address, std::size_t size_bytes) noexcept {
  void* wanted = reinterpret_cast<void*>(address);
  void* got = mmap(wanted, size_bytes, PROT_NONE, kReservation | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, size_bytes);  // kernels before 4.17 take the address for a hint
  return false;
}

void release(std::byte* begin, std::size_t size_bytes) noexcept {
  if (size_bytes != 0) munmap(begin, size_bytes);
}

std::byte* map_books(std::size_t size_bytes) noexcept {
  void* got = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, kReservation, -1, 0);
  return got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
}

bool make_accessible(std::byte* begin, std::size_t size_bytes) noexcept {
  return mprotect(begin, size_bytes, PROT_READ | PROT_WRITE) == 0;
}

bool make_inaccessible(std::byte* begin, std::size_t size_bytes) noexcept {
  if (mprotect(begin, size_bytes, PROT_NONE) != 0) return false;
  return_contents(begin, size_bytes);
  return true;
}

// DONTNEED rather than FREE: the pages leave the resident size at once, so that the effect is visible and testable.
void return_contents(std::byte* begin, std::size_t size_bytes) noexcept { madvise(begin, size_bytes, MADV_DONTNEED); }

void prefer_huge(std::byte* begin, std::size_t size_bytes) noexcept { madvise(begin, size_bytes, MADV_HUGEPAGE); }
void avoid_huge(std::byte* begin, std::size_t size_bytes) noexcept { madvise(begin, size_bytes, MADV_NOHUGEPAGE); }

std::size_t resident_bytes(std::byte* begin, std::size_t size_bytes) noexcept {
  const std::size_t page = page_bytes();
  unsigned char present[4096];  // a byte a page: 16 MiB a call
  std::size_t pages = 0;
  while (size_bytes != 0) {
    const std::size_t part = std::min(size_bytes, sizeof(present) * page);
    if (mincore(begin, part, present) == 0) {
      pages += static_cast<std::size_t>(
          std::count_if(present, present + part / page, [](unsigned char p) { return (p & 1) != 0; }));
    }
    begin += part;
    size_bytes -= part;
  }
  return pages * page;
}

std::size_t address_limit_bytes() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::size_t>::max();
  }
  return limit.rlim_cur;
}

}  // namespace tare::inline TARE_ABI::system_pages
