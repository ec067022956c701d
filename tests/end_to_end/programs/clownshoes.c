// Asks for a power of two plus a header, 2000 times: the botched request that wastes almost half under power-of-two
// classes.
#include <stdlib.h>

struct header {
  size_t bytes;
};

int main(void) {
  static void* kept[2000];
  for (int i = 0; i < 2000; ++i) kept[i] = malloc(1024 + sizeof(struct header));
  for (int i = 0; i < 2000; ++i) free(kept[i]);
  return 0;
}
