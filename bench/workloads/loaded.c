// The library that long_life loads and unloads: one allocation from its own code.
#include <stdlib.h>

void* allocate(size_t bytes) {
  void* const block = malloc(bytes);
  __asm__ volatile("");
  return block;
}
