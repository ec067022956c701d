// pool_of_segments ROUNDS: a pool is made at the start and hands out blocks of 64 bytes until the end, while malloc's
// blocks fill one segment after the other. 100 blocks are out at a time; the last ones stay.
#include <stdio.h>
#include <stdlib.h>

#include "tare/reporter.h"

#define SLOTS 100
static char slab[SLOTS * 64];

int main(int count, char** arguments) {
  const long rounds = atol(arguments[count - 1]);
  const tare_pool pool = tare_pool_create("nodes");
  tare_pool_grow(pool, slab, sizeof slab);
  void* kept[64] = {0};
  for (long i = 0; i < rounds; ++i) {
    char* const block = slab + i % SLOTS * 64;
    if (i >= SLOTS) tare_pool_free(pool, block);
    tare_pool_alloc(pool, block, 64);
    free(kept[i * 7 % 64]);
    kept[i * 7 % 64] = malloc(16 + i * 131 % 5000);
  }
  puts("done");
  return 0;
}
