// Confines itself as told and allocates: "stacked" by two filters, of which the first denies rt_sigprocmask and the
// second kills for madvise; "blind" the same with futex denied as well; "harmless" by one that kills for what nobody
// calls; "refused" by filters that the kernel refuses. After the last two a child does the same.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile kept[64];

static void install(struct sock_filter* steps, unsigned short length) {
  struct sock_fprog filter = {length, steps};
  errno = 0;
  const int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
  printf("%d %s\n", result, strerror(errno));
}

static void answer(unsigned call, unsigned action) {
  struct sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  install(steps, 4);
}

static void install_refused(void) {
  const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  struct sock_filter backward[] = {BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), allow};
  struct sock_filter beyond[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), kill};
  struct sock_filter unfinished[] = {kill, BPF_STMT(BPF_LD | BPF_IMM, 1)};
  struct sock_filter unaligned[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), kill};
  install(backward, 2);
  install(beyond, 2);
  install(unfinished, 2);
  install(unaligned, 2);
  install(NULL, 2);
  install(backward, 0);
  printf("%d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
  printf("%d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void*)8));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  free(malloc(1));
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (strcmp(arguments[1], "refused") == 0) {
    install_refused();
  } else if (strcmp(arguments[1], "harmless") == 0) {
    answer(SYS_acct, SECCOMP_RET_KILL_PROCESS);
  } else {
    answer(SYS_rt_sigprocmask, SECCOMP_RET_ERRNO | EPERM);
    if (strcmp(arguments[1], "blind") == 0) answer(SYS_futex, SECCOMP_RET_ERRNO | EPERM);
    answer(SYS_madvise, SECCOMP_RET_KILL_PROCESS);
  }
  fflush(stdout);
  const int is_free = strcmp(arguments[1], "harmless") == 0 || strcmp(arguments[1], "refused") == 0;
  const pid_t child = is_free ? fork() : -1;
  for (long i = 0; i < 500000; ++i) {
    free(kept[i & 63]);
    kept[i & 63] = malloc(16 + (i & 255));
  }
  int status = 0;
  if (child > 0) {
    waitpid(child, &status, 0);
    printf("%d\n", status);
  }
  return 0;
}
