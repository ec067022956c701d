// A parent's blocks, a child that frees half of them and allocates others; then both kill themselves, the child first.
//   watched_forks fork|failing-exec|exec PROGRAM
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 20000 };
static void* held[BLOCKS];

__attribute__((noinline)) static void* before_fork(void) { return memset(malloc(1000), 1, 8); }
__attribute__((noinline)) static void* after_fork(void) { return memset(malloc(500), 1, 8); }

int main(int argc, char** argv) {
  for (int i = 0; i < BLOCKS; ++i) held[i] = before_fork();
  if (strcmp(argv[1], "failing-exec") == 0) {
    execl("/nonexistent", "nonexistent", (char*)NULL);
    kill(getpid(), SIGKILL);
  }
  if (argc > 2) execv(argv[2], argv + 2);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < BLOCKS; i += 2) free(held[i]);
    for (int i = 0; i < BLOCKS; i += 2) held[i] = after_fork();
    kill(getpid(), SIGKILL);
  }
  waitpid(child, NULL, 0);
  printf("%d\n", (int)child);
  fflush(stdout);
  kill(getpid(), SIGKILL);
}
