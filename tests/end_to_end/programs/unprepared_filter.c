// Confines itself by a seccomp filter, then allocates until the file STOP exists. KIND STOP: "open" lets all calls
// through but one, "narrow" only a few, "code" all but mappings of code.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int count, char** arguments) {
  static struct sock_filter narrow[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_clock_nanosleep),
      ALLOW(SYS_restart_syscall),
      ALLOW(SYS_brk),
      ALLOW(SYS_mmap),
      ALLOW(SYS_munmap),
      ALLOW(SYS_getrandom),
      ALLOW(SYS_write),
      ALLOW(SYS_access),
      ALLOW(SYS_newfstatat),
      ALLOW(SYS_exit_group),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  static struct sock_filter open[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  static struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof(open) / sizeof(*open), open};
  if (count > 2 && strcmp(arguments[1], "narrow") == 0) {
    filter.len = sizeof(narrow) / sizeof(*narrow);
    filter.filter = narrow;
  }
  if (count > 2 && strcmp(arguments[1], "code") == 0) {
    filter.len = sizeof(code) / sizeof(*code);
    filter.filter = code;
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 1;
  static char* volatile kept[100];
  long sum = 0;
  for (int round = 0; access(arguments[2], F_OK) != 0; ++round) {
    for (int i = 0; i < 100; ++i) {
      free(kept[i]);
      kept[i] = malloc(10 + (round * i) % 4000);
      kept[i][3] = (char)i;
      sum |= kept[i][3];
    }
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
  printf("%ld\n", sum);
  return 0;
}
