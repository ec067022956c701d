// Confines itself by seccomp's strict mode, and copies its standard input to its standard output.
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  char* const block = malloc(100);
  if (block == NULL || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 1;
  for (ssize_t got; (got = read(0, block, 100)) > 0;) {
    if (write(1, block, (size_t)got) != got) break;
  }
  syscall(SYS_exit, 0);  // _exit() makes another call
  return 1;
}
