// So many threads alive at a time, each with blocks of its own. Prints how many allocated.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_are_there;
static atomic_long blocks;

static void* work(void* unused) {
  char* volatile kept = malloc(100);
  pthread_barrier_wait(&all_are_there);
  for (int i = 0; i < 10; i++) free(malloc(50));
  blocks += kept != NULL;
  free(kept);
  return unused;
}

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 500;
  pthread_t* const ids = malloc((size_t)threads * sizeof *ids);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_barrier_init(&all_are_there, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; i++) {
    if (pthread_create(&ids[i], &small, work, NULL) != 0) return 1;
  }
  pthread_barrier_wait(&all_are_there);
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  printf("%ld\n", (long)blocks);
  free(ids);
  return 0;
}
