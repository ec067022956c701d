// Touches argv[1] MiB and releases them. Then each line of its input makes it keep 100 MiB in blocks of 64 KiB.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* keep(size_t bytes) {
  void* const block = malloc(bytes);
  memset(block, 1, bytes);
  return block;
}

int main(int argc, char** argv) {
  static void* kept[16384];
  size_t count = 0;
  for (; count < 512; ++count) kept[count] = keep(64 << 10);  // blocks from before
  free(keep(((size_t)atoi(argc > 1 ? argv[1] : "0") << 20) + 1));
  puts("ready");
  fflush(stdout);
  char line[16];
  while (fgets(line, sizeof(line), stdin) != NULL) {
    for (const size_t end = count + 1600; count < end && count < 16384; ++count) kept[count] = keep(64 << 10);
    puts("done");
    fflush(stdout);
  }
  return kept[0] == NULL;
}
