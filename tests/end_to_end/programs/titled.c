// A server's way: the parent allocates, then forks workers that overwrite their command line. Each worker allocates on
// its own and exits by exit(), the last one by _exit().
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWorkers = 3, kParentBytes = 100000, kWorkerBytes = 30000 };

static char* volatile kept;

static void work(char* line, size_t room, int number) {
  memset(line, 0, room);
  snprintf(line, room, "titled: worker %d", number);
  kept = malloc(kWorkerBytes);
  if (number == kWorkers) _exit(0);
  exit(0);
}

int main(int argc, char** argv) {
  char* end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
  kept = malloc(kParentBytes);
  for (int i = 1; i <= kWorkers; ++i) {
    if (fork() == 0) work(argv[0], (size_t)(end - argv[0]), i);
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}
