// Maps a few pages, and reports after snapshots how many of them are in memory: natively none, as nobody touches them.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../../../include/tare/reporter.h"

enum { kPages = 4, kPageBytes = 4096 };
static char* region;

static int pages_in_memory(void) {
  unsigned char present[kPages];
  if (mincore(region, kPages * kPageBytes, present) != 0) return -1;
  int count = 0;
  for (int i = 0; i < kPages; ++i) count += present[i] & 1;
  return count;
}

int main(void) {
  region = mmap(NULL, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const neighbour = mmap(region - kPageBytes, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const block = malloc(100000);
  for (int i = 0; i < 3; ++i) {
    tare_snapshot("look");
    printf("%d\n", pages_in_memory());
  }
  free(block);
  munmap(neighbour, kPageBytes);
  return 5;
}
