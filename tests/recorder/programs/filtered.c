// filtered WHAT PROGRAM ...: becomes the program, on a kernel that lacks what is named: no-populate, no-fallocate,
// no-rename-flags, no-wipe.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter filter[64];
static unsigned short length;

static void add(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false) {
  filter[length++] = (struct sock_filter){code, if_true, if_false, value};
}

// `call`, if its argument number `index` is `value` (any where index is negative), fails with `error`.
static void deny(int call, int index, unsigned value, unsigned error) {
  const unsigned argument = (unsigned)(offsetof(struct seccomp_data, args) + 8 * (index < 0 ? 0 : (unsigned)index));
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0);
  add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, index < 0 ? 1 : 3);
  if (index >= 0) {
    add(BPF_LD | BPF_W | BPF_ABS, argument, 0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  enum { kPopulateWrite = 23, kWipeOnFork = 18, kNoReplace = 1 };
  if (strstr(arguments[1], "no-populate")) deny(SYS_madvise, 2, kPopulateWrite, EINVAL);
  if (strstr(arguments[1], "no-wipe")) deny(SYS_madvise, 2, kWipeOnFork, EINVAL);
  if (strstr(arguments[1], "no-fallocate")) deny(SYS_fallocate, -1, 0, EOPNOTSUPP);
  if (strstr(arguments[1], "no-rename-flags")) deny(SYS_renameat2, 4, kNoReplace, EINVAL);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 3;
  execv(arguments[2], arguments + 2);
  return 4;
}
