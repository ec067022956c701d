// Blocks of an arena that takes its memory from malloc: half of them are given back. The arena is in the program, or in
// a library.
#include <stdlib.h>

struct arena {
  char* next;
  char* end;
};

#if defined(ONLY_ARENA) || defined(WITH_ARENA)
__attribute__((noinline)) void* arena_get(struct arena* arena, size_t bytes) {
  if ((size_t)(arena->end - arena->next) < bytes) {
    arena->next = malloc(65536);
    arena->end = arena->next + 65536;
  }
  void* const block = arena->next;
  arena->next += bytes;
  return block;
}

static volatile size_t given_back;
__attribute__((noinline)) void arena_put(struct arena* arena, void* block) {
  (void)arena;
  if (block != NULL) ++given_back;
}
#else
void* arena_get(struct arena*, size_t);
void arena_put(struct arena*, void*);
#endif

#ifndef ONLY_ARENA
int main(void) {
  static struct arena arena;
  for (int i = 0; i < 2000; ++i) {
    void* const block = arena_get(&arena, i < 1000 ? 40 : 72);
    if (i % 2 == 0) arena_put(&arena, block);
  }
  return 0;
}
#endif
