// ARGUMENT threads that are all alive at once, each with a block of 1234 bytes.
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all_alive;

static void* hold_a_block(void* unused) {
  (void)unused;
  char* volatile block = malloc(1234);
  pthread_barrier_wait(&all_alive);
  free(block);
  return NULL;
}

int main(int count, char** words) {
  const int threads = count > 1 ? atoi(words[1]) : 1;
  pthread_t* handles = calloc((size_t)threads, sizeof(*handles));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_barrier_init(&all_alive, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&handles[i], &small, hold_a_block, NULL) != 0) return 2;
  }
  for (int i = 0; i < threads; ++i) pthread_join(handles[i], NULL);
  free(handles);
  return 0;
}
