// many_stacks COUNT: allocates 40 bytes from so many distinct stacks, and frees all but the last 1,000.
#include <stdlib.h>

static void* volatile kept[1000];
static unsigned long done;

// Each bit of `path` is one of two call sites.
static __attribute__((noinline)) void descend(unsigned long path, int depth) {
  if (depth == 0) {
    free(kept[done % 1000]);
    kept[done++ % 1000] = malloc(40);
  } else if (path & 1) {
    descend(path >> 1, depth - 1);
    __asm__ volatile("");
  } else {
    descend(path >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
  }
}

int main(int count, char** arguments) {
  const unsigned long stacks = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000;
  for (unsigned long path = 0; path < stacks; path++) descend(path, 22);
  return 0;
}
