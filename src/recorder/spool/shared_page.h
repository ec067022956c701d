// A page of a file that others can cut short: it is checked before an access that would end the program by SIGBUS. Not
// on the path of an event: the page is checked before the last words of a process.
#pragma once

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>

#include "recorder/base/syscall.h"

namespace tare::recorder {

inline constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14; older headers lack the name

// False: the file has no such page any more. Zeros of this process's own are in its place.
inline bool keep_shared_page(void* page) {
  constexpr std::uint64_t kPage = 4096;
  if (sys::madvise(page, kPage, kPopulateWrite) != -EFAULT) return true;
  sys::mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return false;
}

}  // namespace tare::recorder
