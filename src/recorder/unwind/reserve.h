// Private zeroed memory straight from the kernel: costs address space until it's touched.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "recorder/syscall.h"

namespace tare::recorder {

inline void* reserve_zeroed(std::uint64_t bytes) {
  const long result =
      sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return sys::failed(result) ? nullptr : reinterpret_cast<void*>(result);
}

}  // namespace tare::recorder
