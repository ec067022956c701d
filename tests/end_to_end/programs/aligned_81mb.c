// Allocates exactly 81 MB that other profilers have missed: by memalign, aligned_alloc and a grown realloc block.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  const size_t mb = 1000 * 1000;
  char* a = memalign(4096, 50 * mb);
  char* b = aligned_alloc(64, 10 * mb);
  char* c = malloc(1 * mb);
  c = realloc(c, 21 * mb);
  if (!a || !b || !c) return 1;
  a[0] = b[0] = c[0] = 1;
  free(a);
  free(b);
  free(c);
  return 0;
}
