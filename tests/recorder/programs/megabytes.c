// 81 MB by memalign, aligned_alloc and realloc, alive at the end.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  for (int i = 0; i < 50; ++i) memset(memalign(64, 1000000), 1, 1000000);
  for (int i = 0; i < 10; ++i) memset(aligned_alloc(4096, 1000000), 1, 1000000);
  char* block = malloc(10);
  for (int i = 1; i <= 21; ++i) block = realloc(block, (size_t)i * 1000000);
  return block == NULL;
}
