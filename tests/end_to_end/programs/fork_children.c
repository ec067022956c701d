// Allocates 1 MB, forks a child that frees it and allocates 7 MB of its own, and a grandchild with 3 MB.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char* volatile inherited;  // volatile: or the compiler leaves the blocks out
static char* volatile own;

int main(void) {
  const size_t mb = 1000 * 1000;
  inherited = malloc(1 * mb);
  inherited[0] = 1;
  pid_t child = fork();
  if (child == 0) {
    free(inherited);
    own = malloc(7 * mb);
    own[0] = 1;
    pid_t grandchild = fork();
    if (grandchild == 0) {
      own = malloc(3 * mb);
      own[0] = 1;
      _exit(0);
    }
    waitpid(grandchild, NULL, 0);
    exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  free(inherited);
  return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 0 : 1;
}
