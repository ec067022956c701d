// Obstacks in threads: 36 objects of 100 bytes fit into a chunk of 4,064 bytes. At the end each thread has two chunks.
#include <obstack.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static void* work(void* kept) {
  for (int round = 0; round < 5; ++round) {
    struct obstack stack;
    obstack_init(&stack);
    for (int i = 0; i < 360; ++i) obstack_alloc(&stack, 100);
    obstack_free(&stack, NULL);
  }
  obstack_init((struct obstack*)kept);
  for (int i = 0; i < 72; ++i) obstack_alloc((struct obstack*)kept, 100);
  return NULL;
}

int main(void) {
  static struct obstack kept[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, &kept[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  _exit(0);
}
