// Grows a buffer byte by byte to 1 MiB: the just-enough strategy whose cumulative cost is 549,756,338,176 bytes.
#include <stdlib.h>

int main(void) {
  char* buffer = NULL;
  for (size_t bytes = 1; bytes <= 1 << 20; ++bytes) {
    char* grown = realloc(buffer, bytes);
    if (!grown) return 1;
    grown[bytes - 1] = 'x';
    buffer = grown;
  }
  free(buffer);
  return 0;
}
