// Blocks of a few sites come and go, always the same, and after some steps the program kills itself.
//   watched STEPS [THREADS [end]]: STEPS of 0: goes on; `end`: exits instead
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD = 60000 };

__attribute__((noinline)) static void* small_blocks(size_t bytes) { return memset(malloc(bytes), 1, 8); }
__attribute__((noinline)) static void* middle_blocks(size_t bytes) { return memset(calloc(1, bytes), 1, 8); }
__attribute__((noinline)) static void* large_blocks(size_t bytes) { return memset(malloc(bytes), 1, 8); }
__attribute__((noinline)) static void* growing_blocks(void* block, size_t bytes) {
  return memset(realloc(block, bytes), 1, 8);
}

static long steps;

static uint64_t next(uint64_t* random) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return *random >> 33;
}

static void* work(void* seed) {
  uint64_t random = (uint64_t)(uintptr_t)seed;
  void** held = calloc(HELD, sizeof *held);
  unsigned char* kinds = calloc(HELD, 1);
  for (long step = 0; steps == 0 || step < steps; ++step) {
    const uint64_t place = next(&random) % HELD;
    const uint64_t kind = next(&random) % 100;
    const uint64_t size = next(&random);
    if (held[place] != NULL && kinds[place] == 3 && kind < 60) {
      held[place] = growing_blocks(held[place], 100 + size % 9000);
      continue;
    }
    free(held[place]);
    held[place] = NULL;
    if (kind < 50) {
      held[place] = small_blocks(16 + size % 200);
      kinds[place] = 0;
    } else if (kind < 70) {
      held[place] = middle_blocks(500 + size % 1500);
      kinds[place] = 1;
    } else if (kind < 72) {
      held[place] = large_blocks(20000 + size % 200000);
      kinds[place] = 2;
    } else if (kind < 80) {
      held[place] = growing_blocks(NULL, 50 + size % 500);
      kinds[place] = 3;
    }
  }
  return held;
}

int main(int argc, char** argv) {
  steps = atol(argv[1]);
  const int threads = argc > 2 ? atoi(argv[2]) : 0;
  pthread_t ids[16];
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, (void*)(uintptr_t)(i + 1));
  if (threads == 0) work((void*)1);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  if (argc > 3) return 0;
  kill(getpid(), SIGKILL);
}
