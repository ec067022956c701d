// Threads that realloc and free through one arena: an address given up by one is handed to the other at once.
#include <pthread.h>
#include <stdlib.h>

enum { kThreads = 2, kRounds = 1500000, kSlots = 8 };

static void* churn(void* arg) {
  unsigned seed = (unsigned)(size_t)arg * 7919u + 1;
  void* slots[kSlots] = {0};
  for (int i = 0; i < kRounds; ++i) {
    seed = seed * 1103515245u + 12345u;
    unsigned slot = (seed >> 16) % kSlots;
    size_t bytes = 16 + (seed >> 8) % 600;
    if ((seed & 7) == 0) {
      free(slots[slot]);
      slots[slot] = NULL;
    } else {
      slots[slot] = realloc(slots[slot], bytes);
      if (!slots[slot]) abort();
    }
  }
  for (int i = 0; i < kSlots; ++i) free(slots[i]);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, churn, (void*)(i + 1));
  for (size_t i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
