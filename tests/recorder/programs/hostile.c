// Programs that take the recorder's footing away. Argument: close-fds, chroot, no-files, limited-files, limited-memory, seccomp.
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  const long pairs = count > 2 ? atol(arguments[2]) : 1000000;
  free(malloc(1));
  if (strcmp(how, "close-fds") == 0) {
    for (int fd = 0; fd < 1024; ++fd) close(fd);
  } else if (strcmp(how, "chroot") == 0) {
    if (chdir("/proc") != 0 || chroot("/proc/self/fdinfo") != 0) return 1;
  } else if (strcmp(how, "no-files") == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
  } else if (strcmp(how, "seccomp") == 0) {
    // After this only read, write, exit and sigreturn are allowed: anything else kills.
    free(malloc(2));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 1;
    for (int i = 0; i < 200; ++i) free(malloc(100));
    syscall(SYS_exit, 0);
  }
  for (long i = 0; i < pairs; ++i) free(malloc(16 + (size_t)(i & 255)));
  return 0;
}
