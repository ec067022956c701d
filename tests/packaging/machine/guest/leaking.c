// Leaks from two sites until it is killed: leaking KIB_PER_STEP STEP_MS [MOST_MIB]. With MOST_MIB it then waits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) void* session(size_t bytes) {
  void* block = malloc(bytes);
  if (block != NULL) memset(block, 'x', bytes);
  return block;
}

__attribute__((noinline)) void* answer(size_t bytes) {
  void* block = malloc(bytes);
  if (block != NULL) memset(block, 'y', bytes);
  return block;
}

int main(int argc, char** argv) {
  const size_t step = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 10;
  const unsigned pause_us = (argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10) * 1000;
  const size_t most = (argc > 3 ? strtoul(argv[3], NULL, 10) : ~0UL >> 21) << 20;
  for (size_t total = 0; total < most; total += step) {
    void* volatile kept = session(step * 3 / 4);
    void* volatile also = answer(step / 4);
    if (kept == NULL || also == NULL) return 3;
    usleep(pause_us);
  }
  printf("full\n");
  fflush(stdout);
  for (;;) pause();
}
