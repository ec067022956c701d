// Threads that hand each other blocks for freeing, through lock-free slots: every free is of another thread's block.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { kThreads = 2, kRounds = 1500000, kSlots = 64 };

static _Atomic(void*) slots[kSlots];

static void* exchange(void* arg) {
  unsigned seed = (unsigned)(size_t)arg * 104729u + 1;
  for (int i = 0; i < kRounds; ++i) {
    seed = seed * 1103515245u + 12345u;
    void* mine = malloc(24 + (seed >> 20) % 200);
    if (!mine) abort();
    free(atomic_exchange(&slots[(seed >> 12) % kSlots], mine));
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, exchange, (void*)(i + 1));
  for (size_t i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kSlots; ++i) free(atomic_load(&slots[i]));
  return 0;
}
