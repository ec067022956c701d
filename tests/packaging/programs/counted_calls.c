// Three threads make known calls of each entry point, with sizes that nothing else requests, and keep each tenth block
// of malloc. The numbers are in test_wheel_recorder.py.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 3, kRounds = 1000 };

static char* volatile kept;  // volatile: or the compiler leaves the blocks out
static char text[10092];

static void give(char* block) {
  if (block == NULL) abort();
  block[0] = 1;
  free(block);
}

static void* work(void* unused) {
  for (int round = 0; round < kRounds; ++round) {
    char* const plain = malloc(10007);
    if (round % 10 == 0) {
      kept = plain;
    } else {
      give(plain);
    }
    give(calloc(1, 10009));
    char* const small = malloc(10037);
    give(realloc(small, 10039));
    void* aligned = NULL;
    if (posix_memalign(&aligned, 64, 10061) != 0) abort();
    give(aligned);
    give(memalign(128, 10067));
    give(aligned_alloc(64, 10112));
    give(strdup(text));
  }
  return unused;
}

int main(void) {
  memset(text, 'x', sizeof text - 1);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  give(malloc(10133));  // with musl, nothing else of this thread allocates
  puts("done");
  return 7;
}
