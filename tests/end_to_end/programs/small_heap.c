// A megabyte of heap, all of it written; ends by exit, or with an argument by _exit.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  (void)words;
  for (int i = 0; i < 1000; i++) {
    char* const block = malloc(1000);
    if (block == NULL) return 1;
    memset(block, 1, 1000);
  }
  if (count > 1) _exit(0);
  return 0;
}
