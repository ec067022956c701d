// Forks again and again until the file STOP exists; the children free a block of their parent's and one of their own.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char* volatile block;
static char* volatile own;

int main(int count, char** arguments) {
  (void)count;
  for (int round = 0; access(arguments[1], F_OK) != 0; ++round) {
    block = malloc(100 + round % 1000);
    const pid_t child = fork();
    if (child == 0) {
      own = malloc(50);
      free(block);
      free(own);
      _exit(round % 7);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != round % 7) return 1;
    free(block);
    usleep(1000);
  }
  puts("all children ended as expected");
  return 0;
}
