// waiting_threads THREADS BLOCKS: each thread allocates so many blocks, then waits for the end of input. The main
// thread prints "waiting" when all wait, and after a first line of input, when all have ended, "ended".
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int blocks;
static pthread_barrier_t all_wait, all_may_end;

static void* work(void* unused) {
  for (int i = 0; i < blocks; i++) {
    void* volatile block = malloc(i % 512);
    free(block);
  }
  pthread_barrier_wait(&all_wait);
  pthread_barrier_wait(&all_may_end);
  return NULL;
}

int main(int count, char** arguments) {
  const int threads = count > 2 ? atoi(arguments[1]) : 100;
  blocks = count > 2 ? atoi(arguments[2]) : 1000;
  pthread_barrier_init(&all_wait, NULL, threads + 1);
  pthread_barrier_init(&all_may_end, NULL, threads + 1);
  pthread_t* all = calloc(threads, sizeof(pthread_t));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  for (int i = 0; i < threads; i++) {
    if (pthread_create(&all[i], &small, work, NULL) != 0) return 1;
  }
  pthread_barrier_wait(&all_wait);
  puts("waiting");
  fflush(stdout);
  getchar();
  pthread_barrier_wait(&all_may_end);
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  free(all);
  puts("ended");
  fflush(stdout);
  getchar();
  return 0;
}
