// A page of a file that others can cut short: it is checked before an access that would end the program by SIGBUS. Not
// on the path of an event: the page is checked before the last words of a process.
#pragma once

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>

#include "recorder/base/syscall.h"

#include "recorder/base/address.h"

namespace tare::recorder {

inline constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14; older headers lack the name

// Zeros of this process's own, in place of a page that the file has no more.
inline void replace_shared_page(void* page) {
  sys::mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

// False: the file has no such page any more. Zeros of this process's own are in its place.
inline bool keep_shared_page(void* page) {
  if (sys::madvise(page, kPage, kPopulateWrite) != -EFAULT) return true;
  replace_shared_page(page);
  return false;
}

}  // namespace tare::recorder
