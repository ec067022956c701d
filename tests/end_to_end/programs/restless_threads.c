// Four threads that allocate, grow and free at once, a fifth that comes and goes, until stdin is closed.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 4, kBlocks = 64 };
static atomic_int is_over;

static void* churn(void* seed) {
  void* blocks[kBlocks] = {0};
  unsigned random = (unsigned)(size_t)seed;
  while (!atomic_load(&is_over)) {
    random = random * 1103515245u + 12345u;
    const unsigned at = random >> 16 & (kBlocks - 1);
    const size_t bytes = 16 + (random >> 8 & 1023);
    if (random >> 30 != 0) {
      free(blocks[at]);
      blocks[at] = malloc(bytes);
    } else {
      blocks[at] = realloc(blocks[at], bytes);
    }
    memset(blocks[at], 'x', bytes);
    if ((random >> 4 & 63) == 0) usleep(50);  // on two processors all get a turn
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  return NULL;
}

static void* brief(void* unused) {
  void* volatile block = malloc(100);  // else the compiler leaves both calls out
  free(block);
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, churn, (void*)(i + 1));
  static char line[64];
  while (read(0, line, sizeof(line)) > 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, brief, NULL);
    pthread_join(thread, NULL);
    (void)!write(1, "done\n", 5);
  }
  atomic_store(&is_over, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
