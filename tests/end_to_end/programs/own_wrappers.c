/* Two functions allocate by a wrapper of the program's own, of which no list can know. */
#include <stdlib.h>

__attribute__((noinline)) static void* arena_get(size_t bytes) {
  char* block = malloc(bytes);
  if (block != NULL) block[0] = 1;
  return block;
}

__attribute__((noinline)) static void* make_leaf(void) { return arena_get(40); }
__attribute__((noinline)) static void* make_branch(void) { return arena_get(56); }

int main(void) {
  void* volatile kept = NULL;
  for (int i = 0; i < 5000; ++i) {
    kept = make_leaf();
    kept = make_branch();
  }
  return kept == NULL;
}
