// Allocates in rounds until a line of input comes. "exec": becomes itself anew. "fork": its child allocates and becomes
// a shell that waits. "quit": ends.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile kept;

static void allocate(int count) {
  for (int i = 0; i < count; ++i) {
    kept = malloc((size_t)i + 1);
    free(kept);
  }
}

int main(int argc, char** argv) {
  (void)argc;
  char line[16];
  puts("ready");
  fflush(stdout);
  fcntl(0, F_SETFL, O_NONBLOCK);
  while (1) {
    allocate(100);
    usleep(2000);
    const ssize_t got = read(0, line, sizeof(line) - 1);
    if (got <= 0) continue;
    line[got] = '\0';
    if (strncmp(line, "exec", 4) == 0) execv(argv[0], argv);
    if (strncmp(line, "quit", 4) == 0) return 0;
    if (strncmp(line, "fork", 4) != 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      allocate(50);
      execl("/bin/sh", "sh", "-c", "sleep 0.2", (char*)NULL);
      _exit(1);
    }
    waitpid(child, NULL, 0);
    printf("%d\n", (int)child);
    fflush(stdout);
  }
}
