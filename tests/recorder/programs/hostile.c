// Programs that take the recorder's footing away. Argument: close-fds, chroot, no-files, limited-files, limited-memory,
// seccomp, and the filters and strict mode that kill, installed by prctl or syscall: kill-prctl, kill-syscall, strict.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Only the calls that malloc and the end of a program need: any other call kills.
static void allow_little(int by_prctl) {
  static const int allowed[] = {SYS_mmap, SYS_munmap, SYS_brk, SYS_write, SYS_exit_group};
  enum { kAllowed = sizeof(allowed) / sizeof(allowed[0]) };
  struct sock_filter filter[2 * kAllowed + 2];
  int at = 0;
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
  for (int i = 0; i < kAllowed; ++i) {
    filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog program = {(unsigned short)at, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) exit(1);
  // Refused ones change nothing.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 8) == 0 || syscall(SYS_seccomp, 1, 0xffff, &program) == 0) exit(1);
  const long result = by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                               : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  if (result != 0) exit(1);
}

static void recurse(int depth) {
  volatile char frame[3000];
  frame[depth] = 1;
  free(malloc(77));
  if (depth > 0) recurse(depth - 1);
  frame[depth] = 2;
}

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
    // Not for the allocator, which needs none of these at this size.
    static const int denied[] = {
#ifdef SYS_open
        SYS_open,
#endif
        SYS_openat, SYS_madvise, SYS_mremap, SYS_statfs, SYS_fallocate, SYS_fcntl, SYS_nanosleep};
    enum { kDenied = sizeof(denied) / sizeof(denied[0]) };
    struct sock_filter filter[2 * kDenied + 2];
    int at = 0;
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    for (int i = 0; i < kDenied; ++i) {
      filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)denied[i], 0, 1);
      filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)at, filter};
    free(malloc(2));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      return 1;
  } else if (strncmp(how, "kill-", 5) == 0) {
    allow_little(strcmp(how, "kill-prctl") == 0);
    recurse(100);  // stack that nobody has seen yet
  } else if (strcmp(how, "strict") == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 1;
    for (long i = 0; i < pairs; ++i) free(malloc(16 + (size_t)(i & 255)));
    syscall(SYS_exit, 0);
  }
  for (long i = 0; i < pairs; ++i) free(malloc(16 + (size_t)(i & 255)));
  return 0;
}
