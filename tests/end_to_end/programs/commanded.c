// Does what its stdin says, a line each, and answers "done": makes, frees and grows blocks, asks for a snapshot, forks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../include/tare/reporter.h"

enum { kMost = 100000 };
static void* blocks[kMost];
static int count;

static void make(int number, size_t bytes) {
  for (int i = 0; i < number && count < kMost; ++i) {
    blocks[count] = malloc(bytes);
    memset(blocks[count++], 'x', bytes);
  }
}

static void drop_all(void) {
  while (count > 0) free(blocks[--count]);
}

static void grow(size_t bytes) {
  for (int i = 0; i < count; ++i) blocks[i] = realloc(blocks[i], bytes);
}

static void obey(const char* line) {
  int number;
  size_t bytes;
  char name[64];
  if (sscanf(line, "make %d %zu", &number, &bytes) == 2) make(number, bytes);
  if (sscanf(line, "pair %zu", &bytes) == 1) free(memset(malloc(bytes), 'x', bytes));
  if (strncmp(line, "drop", 4) == 0) drop_all();
  if (sscanf(line, "grow %zu", &bytes) == 1) grow(bytes);
  if (sscanf(line, "snapshot %63s", name) == 1) tare_snapshot(name);
  if (sscanf(line, "fork %d %zu", &number, &bytes) == 2) {
    const pid_t child = fork();
    if (child == 0) {
      make(number, bytes);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
}

int main(void) {
  static char out[64];
  static char in[4096];
  setvbuf(stdout, out, _IOLBF, sizeof(out));
  setvbuf(stdin, in, _IOFBF, sizeof(in));
  char line[256];
  while (fgets(line, sizeof(line), stdin)) {
    obey(line);
    puts("done");
  }
  return 0;
}
