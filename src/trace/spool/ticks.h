// The processor's counter by which the recorder stamps events: the TSC of x86-64, the generic timer of aarch64.
#pragma once

#include <cstdint>

namespace tare::trace {

// The processor may read it before earlier instructions are done.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // <x86intrin.h> takes 0.8 s of compilation a source
#elif defined(__aarch64__)
  std::uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
#error "one counter per architecture"
#endif
}

}  // namespace tare::trace
