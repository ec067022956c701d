// Threads that allocate in every way, by the allocator whose functions have PREFIX before their names.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef PREFIX
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
void* JOIN(PREFIX, malloc)(size_t);
void* JOIN(PREFIX, calloc)(size_t, size_t);
void* JOIN(PREFIX, realloc)(void*, size_t);
void* JOIN(PREFIX, aligned_alloc)(size_t, size_t);
int JOIN(PREFIX, posix_memalign)(void**, size_t, size_t);
void JOIN(PREFIX, free)(void*);
#define malloc JOIN(PREFIX, malloc)
#define calloc JOIN(PREFIX, calloc)
#define realloc JOIN(PREFIX, realloc)
#define aligned_alloc JOIN(PREFIX, aligned_alloc)
#define posix_memalign JOIN(PREFIX, posix_memalign)
#define free JOIN(PREFIX, free)
#endif

enum { THREADS = 4, ROUNDS = 20000, KEPT = 500 };
static void* kept[THREADS][KEPT];
void* volatile last;  // else the compiler leaves the call of malloc out

static void* work(void* argument) {
  void** const mine = kept[(intptr_t)argument];
  for (int i = 0; i < ROUNDS; ++i) {
    void** const slot = &mine[i % KEPT];
    const size_t bytes = (size_t)(i % 997) + 1;
    free(*slot);
    switch (i % 5) {
      case 0:
        *slot = malloc(bytes);
        break;
      case 1:
        *slot = calloc(3, bytes);
        break;
      case 2:
        *slot = realloc(malloc(bytes), bytes * 3);
        break;
      case 3:
        *slot = aligned_alloc(64, (bytes + 63) / 64 * 64);
        break;
      default:
        if (posix_memalign(slot, 256, bytes) != 0) return NULL;
    }
    memset(*slot, i, bytes);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  last = malloc(123457);
  return 0;
}
