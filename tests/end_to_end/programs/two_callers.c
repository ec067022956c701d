/* One function allocates texts that are written to their ends, and tables of which a quarter is written. */
#include <stdlib.h>
#include <string.h>

enum { kMany = 20000, kTextBytes = 32, kTableBytes = 272, kWrittenBytes = 64 };
char* blocks[2 * kMany];

__attribute__((noinline)) static char* sized(size_t bytes, size_t written, int number) {
  char* block = malloc(bytes);
  memset(block, 'a', written);
  memcpy(block, &number, sizeof number); /* no two are equal */
  return block;
}

__attribute__((noinline)) static void texts(void) {
  for (int i = 0; i < kMany; ++i) blocks[i] = sized(kTextBytes, kTextBytes, i);
}

__attribute__((noinline)) static void tables(void) {
  for (int i = 0; i < kMany; ++i) blocks[kMany + i] = sized(kTableBytes, kWrittenBytes, kMany + i);
}

int main(void) {
  texts();
  tables();
  for (int i = 0; i < 2 * kMany; ++i) free(blocks[i]);
  return 0;
}
