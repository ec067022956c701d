// A child that can't make files, and so isn't recorded, fills its address space where its parent's recording lay, and
// forks: what it mapped must be whole in its own child.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPieces = 2000, kBytes = 64 << 10 };

static unsigned char* pieces[kPieces];

static int wait_for(pid_t child) {
  int status = -1;
  if (waitpid(child, &status, 0) != child) return -1;
  return status;
}

static int check(void) {
  int changed = 0;
  for (int i = 0; i < kPieces; ++i) {
    for (int at = 0; at < kBytes; at += 4096) changed += pieces[i][at] != 0xab;
  }
  return changed == 0 ? 0 : 1;
}

static int work(void) {
  const struct rlimit none = {4096, 4096};
  setrlimit(RLIMIT_FSIZE, &none);
  void* volatile block = malloc(100);
  free(block);
  for (int i = 0; i < kPieces; ++i) {
    pieces[i] = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pieces[i] == MAP_FAILED) return 3;
    memset(pieces[i], 0xab, kBytes);
  }
  const pid_t child = fork();
  if (child == 0) _exit(check());
  return wait_for(child) == 0 && check() == 0 ? 0 : 4;
}

int main(void) {
  void* volatile block = malloc(100);
  free(block);
  const pid_t child = fork();
  if (child == 0) _exit(work());
  printf("%d\n", wait_for(child));
  return 0;
}
