// What gcc 12's static C++ library takes from glibc 2.32 to 2.36, for programs that run with an older glibc
// (toolchain.cmake). SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// Zero makes the C++ library count references with locked instructions, which is right with any number of threads.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// std::random_device calls it.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  return value;
}
